"""Campaigns: workloads of trend queries by the thousand, each compared with brute force.

`python -m fuzz --workloads 20000 --seed 1` (with `tests` on the path; `make fuzz` does it) draws
them by plain chance instead of by Hypothesis, builds every trend of a workload once, and runs it in
all sharing modes and both granularities; a share of them on Spark too. It counts what it compared.
"""
