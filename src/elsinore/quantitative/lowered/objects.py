"""Where in the heap, and in its objects, their parts are."""

FREE, NEED, END, LISTED = range(4)  # of the heap, the journal and results; then what is listed
KIND, SIZE, SHARED = range(3)  # of every object; shared: other objects refer to it
CAPACITY, COUNT, GONE, ENTRIES = range(3, 7)  # of a table: an index of places, then entries
SERIAL, TABLE, IDLE = range(3, 6)  # of keys' threads: the last item, their table, the idle record
FIRST, FILLED, RING = range(4, 7)  # of a ring: capacity, first, filled; accumulator, values
DONE, OLDER, NEWER, STACKS = range(4, 8)  # of two stacks: older[done:], and how many are newer
LOWER, UPPER, IN_ORDER = range(4, 7)  # of numbers in order: how many are in either heap, then they
NUMBER, TOTAL, BUCKETS = range(3, 6)  # of a histogram of marks: then each level's first and number
RANKS, SHAPE = range(7, 9)  # of the words of all kinds: where texts' places begin; words of a kind
WHOLE, DOUBLES, TEXTS = range(3)  # what keys are
TABLES, THREADS, RINGS, PLAIN = range(4)  # shapes
LEAST, SCRATCH = 8, 8  # entries or values that there is room for at first; of the heap: keys
BEGIN = 40  # of the heap: the first object
