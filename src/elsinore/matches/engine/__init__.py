"""The match engine as a graph: the partial matches of a window, with counts, built backwards.

A *node* is an event in a state of the automaton; an edge leads to a node that may come right after
it in a match. `dag` builds the nodes from the last event backwards, and counts for each the ways to
complete a match. `search` goes along the edges and returns matches. The modules are compiled ahead
of time and also run uncompiled.
"""
