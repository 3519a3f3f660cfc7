"""Plain benchmarks for pytest-benchmark, a suite for each backend: a test for each work."""
