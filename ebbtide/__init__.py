"""The command: the only place that wires adapters to cores."""
