"""Helpers of several test folders."""
