"""Conformance: one suite per seam, passed by its fake and by every adapter."""
