"""What the benchmark of live streams consists of: events, ways to process them, and measuring."""
