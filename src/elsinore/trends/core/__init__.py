"""The engine's core: steps on lanes, their composition, numbers and totals, without sharing."""
