"""Sharing a burst of events among queries (HAMLET, Sections 3 and 4).

- `sets`: which queries may share which Kleene sub-pattern;
- `bursts`: when bursts begin and end (Definition 10), counted in every mode;
- `graphlets`: shared graphlets, in which an event has one trend count for all queries;
- `snapshots`: the values of snapshots for each query, put in where a graphlet ends or later;
- `edges`: the same where events are compared with those before them, with snapshots at events;
- `columns`: the values of these snapshots, put in, and rows that are multiplied by them;
- `optimizer`: what sharing a burst saves (Definition 12), and who shares the next one (4.3).
"""
