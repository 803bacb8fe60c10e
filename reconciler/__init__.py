"""One partition's control plane: observe, decide, guard, apply, record."""
