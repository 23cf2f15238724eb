"""The trend engine: an event reads the state from before its timestamp, adds to it, and is stored.

`program` translates a unit's merged template into tables of structs (`tables`); `operator` passes
batches to the compiled loop (`process`). The state of a key is one row of lanes (`store`): the sums
of each query of the same shape in each open window.

- `layout`, `steps`: the lanes of nodes, and what each class of events does to them;
- `process`: the loop over events, and storing what the events of a timestamp added;
- `recurrence`: what one event adds to the lanes of a step (HAMLET, Equations 1 to 3);
- `rows`, `ranges`, `bounds`: earlier events read one by one, or by ranges of an attribute's values;
- `conditions`, `values`: further conditions between an event and an earlier one;
- `windows`: which windows open and close at a time, and the totals of closed windows;
- `numbers`: numbers beyond a double's range, and lanes of them;
- `sharing`: bursts that queries share.

The modules that run for each event are compiled by Cython, and also run uncompiled. EXACT, and
conditions or NOT in ambiguous patterns, are evaluated by `elsinore.trends.exact`
(`program.engine_unit`).
"""
