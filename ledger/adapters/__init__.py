"""Stores behind the ledger."""
