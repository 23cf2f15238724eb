"""Rows that wait for the end of their windows, behind one interface; which windows are due."""
