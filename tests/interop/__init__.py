"""Tests against rare peers; make test-interop runs them."""
