"""The benchmark of live streams: events, ways to process them, and measurement."""
