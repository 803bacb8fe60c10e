"""Tests of the form layers, the rules across files and their samples."""
