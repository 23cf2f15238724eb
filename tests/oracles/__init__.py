"""Slow, plainly right readings of definitions, which engines are compared with."""
