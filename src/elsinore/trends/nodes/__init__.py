"""The merged template as nodes: what events do to them, and how they are laid out as lanes."""
