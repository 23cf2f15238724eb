"""The merged template as nodes: what events do to them, and where they lie as lanes."""
