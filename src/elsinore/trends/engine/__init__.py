"""The trend engine: an event reads the state from before its timestamp, adds to it, and is stored.

`program` translates a unit's merged template into tables of structs (`tables`); `operator` passes
batches to the compiled loop (`process`). The state of a key is one row of lanes (`store`): the sums
of each query of the same shape in each open window.

- `recurrence`: what one event adds to the lanes of a step (HAMLET, Equations 1 to 3);
- `moments`: storing what the simultaneous events of a timestamp added;
- `windows`: which windows open and close at a time;
- `totals`: what leaves the lanes of a closed window;
- `numbers`: numbers beyond a double's range.

All but `program` and `operator` are compiled by Cython, and run uncompiled as well.
"""
