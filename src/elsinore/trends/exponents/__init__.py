"""When a key's numbers get exponents: from the first one on that has passed 2**384."""
