"""Live events from Kafka topics, and results to them (needs the extra `elsinore[kafka]`)."""
