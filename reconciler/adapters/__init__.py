"""Schedulers, forges and leases behind the reconciler's ports."""
