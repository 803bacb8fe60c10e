"""The simulated cloud: what it promises beyond the provider seam."""
