"""What one would use instead: rivals that the benchmarks compare with."""
