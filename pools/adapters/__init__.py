"""Real providers behind the seam of pools.provider."""
