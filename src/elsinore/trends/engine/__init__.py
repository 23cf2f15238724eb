"""The trend engine: an event reads the state from before its timestamp, adds to it, and is stored.

`program` translates a unit's merged template into tables of structs (`tables`); `operator` passes
batches to the compiled loop (`process`). The state of a key is one row of lanes (`store`): the sums
of each query of the same shape in each open window.

- `recurrence`: what one event adds to the lanes of a step (HAMLET, Equations 1 to 3);
- `rows`, `runs`, `bounds`: events that are read one by one, by ranges of an attribute's values;
- `conditions`: what else is asked of each earlier event, evaluated by `operators.conditions`;
- `negatives`: what NOT forbids, as intervals of the moments of earlier events;
- `anchors`: trends kept apart by an event that later ones are compared with;
- `moments`: storing what the simultaneous events of a timestamp added;
- `windows`: which windows open and close at a time;
- `totals`: what leaves the lanes of a closed window;
- `numbers`: numbers beyond a double's range.

The modules that run for each event are compiled by Cython, and run uncompiled as well. `units` says
which queries run here: all but EXACT and conditions or NOT in ambiguous patterns, which
`elsinore.trends.sets` has.
"""
