"""The one launcher of real servers, for tests and benchmarks: each on loopback, each ended by its own pid."""
