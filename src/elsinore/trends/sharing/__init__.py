"""Sharing bursts: work that a series of events does alike in many lanes is done once for all."""
