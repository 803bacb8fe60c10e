"""Notice sources and schedulers as a node sees them."""
