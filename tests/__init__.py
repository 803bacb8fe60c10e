"""The rings of tests: unit, property, golden transcripts, conformance, simulation, real servers."""
