"""Where the graphs of all sets lie in memory."""
