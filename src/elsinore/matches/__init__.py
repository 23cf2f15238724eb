"""Match queries: the engine that gives out the matches themselves (SASE++, SIGMOD 2014).

A query's pattern becomes an automaton (`template`) with conditions on its edges (`conditions`) and
registers for what a partial match remembers (`registers`). The events of open windows are kept;
from each event that may begin a match the search goes on depth first, along what can be completed
(`search`).
"""
