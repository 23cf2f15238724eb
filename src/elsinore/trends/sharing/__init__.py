"""Sharing bursts: what a run of events does to many lanes alike is worked on once for all."""
