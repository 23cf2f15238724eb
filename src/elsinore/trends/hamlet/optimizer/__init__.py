"""Decisions to share, burst by burst."""
