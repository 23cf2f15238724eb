"""Rows that wait for the end of their windows, by one contract, and which windows are due."""
