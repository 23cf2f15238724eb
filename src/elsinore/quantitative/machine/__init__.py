"""The evaluation of queries: one pass, constant state and time per item (StreamQRE, Section 4)."""
