"""Payloads, node bundles and their canonical form."""
