"""Benchmarks: `python -m benchmarks`, or `make bench`. Results go to RESULTS.md."""
