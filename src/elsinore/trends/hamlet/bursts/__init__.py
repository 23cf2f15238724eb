"""Bursts: processed alone, or as a shared graphlet."""
