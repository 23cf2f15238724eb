"""Turning records of live sources into rows of a schema."""
