"""Pools as data: eligibility, interruption, ranking, exclusion, and the provider's five commitments."""
