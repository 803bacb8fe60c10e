"""Each figure of the design, its peer and how to repeat it."""
