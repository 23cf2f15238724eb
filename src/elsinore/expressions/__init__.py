"""Expressions over whole columns: their values and their types."""
