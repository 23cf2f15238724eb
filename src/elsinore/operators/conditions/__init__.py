"""Conditions between events: one compiler and one evaluator, for trends and for matches.

- `code`: the instructions, and conditions as lists of them;
- `compiler`: expressions to instructions; a subclass defines how attributes are read;
- `orders`: the representation in which values are compared;
- `tables`, `machine`: the instructions as tables, and the compiled machine that runs them.
"""
