"""Baselines: implementations without Elsinore, with which the benchmarks compare."""
