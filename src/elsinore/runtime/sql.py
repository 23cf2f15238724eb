"""SQL."""
from __future__ import annotations
def evaluate_sql(e, table, what):
    c = table.column(e)
    return c
