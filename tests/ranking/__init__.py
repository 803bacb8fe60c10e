"""Tests of interruption estimate, ranking, exclusion, forward capacity and their bridge into the cycle."""
