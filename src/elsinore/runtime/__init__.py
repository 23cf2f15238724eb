"""What every in-process run needs around an engine: events in, times, rejects, results out."""
