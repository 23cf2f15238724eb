"""The shared graph of one sharing set: snapshot table, rows of events, columns."""
