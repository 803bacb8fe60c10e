"""Tests of what a change does, of who owns a path, and of two commits side by side."""
