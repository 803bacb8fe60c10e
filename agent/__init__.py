"""The node: the last 120 seconds, decided from local state alone."""
