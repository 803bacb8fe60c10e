"""Tests against real servers, started by the one launcher."""
