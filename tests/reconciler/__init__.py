"""The reconciler: claims, census, diff, guard, arbiter, and the whole loop over fakes."""
