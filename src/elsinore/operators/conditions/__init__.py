"""Conditions between events: one compiler and one evaluator, for trends and for matches.

- `code`: the instructions, and conditions as lists of them;
- `compiler`: expressions to instructions; a subclass says where attributes are read;
- `orders`: what values are compared with one another;
- `tables`, `machine`: the instructions as tables, and the compiled machine that runs them.
"""
