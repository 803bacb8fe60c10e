"""Sockets and clocks around the simulated region."""
