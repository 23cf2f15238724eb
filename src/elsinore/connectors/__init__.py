"""Sources and sinks of live streams, for every driver: folders and Kafka.

`contract` says what a source is and how a driver uses it.
"""
