"""The simulated region under the reconciler."""
