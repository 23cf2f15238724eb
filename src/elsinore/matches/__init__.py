"""Match queries: the engine that returns the matches themselves (SASE++, SIGMOD 2014).

A query's pattern becomes an automaton (`template`) with conditions on its edges (`conditions`) and
registers for what a partial match remembers (`registers`). The events of open windows are stored.
The partial matches of a window are a graph, which a depth-first search traverses (`engine`).
"""
