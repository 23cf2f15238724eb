"""What events add up: columns of numbers, deviations from a shift, variances from sums."""
