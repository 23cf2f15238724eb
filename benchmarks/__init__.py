"""Benchmarks: `python -m benchmarks`, or `make bench`. Results go to RESULTS.md beside this file."""
