"""Which pools fall together: known topology, learnt groups, and the bound on spread."""
