"""The engine of sums: events act on sums per state, or on the clock of a shared burst."""
