"""The engine's core: steps on lanes, their composition, numbers and totals; it knows no sharing."""
