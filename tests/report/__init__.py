"""The report: scales, pictures, what is read out of events, and the whole document."""
