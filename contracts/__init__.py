"""The interruption contract: values, errors, model, tiers and one-contract rules. Imports nothing heavy."""
