"""What every in-process run needs around an engine: input, times, rejected events, results."""
