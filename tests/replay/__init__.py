"""The replay: its rules by hand, its bounds, and one look at the record."""
