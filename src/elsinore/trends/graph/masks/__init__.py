"""Sums per event and set of states, where a sequence of events may have several runs."""
