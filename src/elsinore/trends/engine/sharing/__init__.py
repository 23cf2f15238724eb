"""Sharing a burst of events among queries (HAMLET, Sections 3 and 4).

- `sets`: which queries may share which Kleene sub-pattern;
- `bursts`: when bursts begin and end (Definition 10), counted in every mode, with statistics;
- `graphlets`: shared graphlets, in which an event has one trend count for all queries;
- `snapshots`: the values of snapshots for each query, put in where a graphlet ends or later;
- `edges`: the same where events are compared with those before them, with snapshots at events;
- `columns`: the values of these snapshots, put into lanes, and rows multiplied by them;
- `optimizer`: the benefit of sharing a burst (Definition 12), and which cohorts share it (4.3).
"""
