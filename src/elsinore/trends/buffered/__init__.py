"""The operator of the engines that keep events."""
