"""Conditions that rule events out before matches are made (SASE++, SIGMOD 2014, Section 5).

`main_run` selects every event that fits by type, window and early filters; `construct` makes
matches from these events. `auto_search` chooses between this and the search by paths for each
batch. Other evaluations from the literature are in the repository's `benchmarks/evaluations`.
"""
