"""Windows of the shared graph."""
