"""Where the program tells what of a class of events, and of what a class empties.

A class is the words NUMBER to SECTIONS, and from there on how many sections it has and of each what
`sharing.bursts` tells; the first is of no group. `class_words` writes them, kernels read them.
"""

from __future__ import annotations

# a class: its number, its order among those of one moment (higher ones first), whether it reads
# what it changes, whether its moments may wait together, lists of the blocks that it reads and
# changes, of what it empties, of the bursts that it breaks and of the holders to be settled before;
# the list of all its steps, of whatever group; that list again where each can be repeated
# on its own, and its moments may wait together, or else 0; its family, or 0; and where that takes
# note of its events, if it is a single step on lanes that are their own predecessors, or else -1;
# the list of all its steps where an event that is a moment of its own had better act when it comes;
# the list of its cells where such an event had better take these (`core.plain`), or else 0;
# the list of all its steps where what an event adds can be told at once, though others of its time
# may follow (`core.gains`), or else 0, and that of cells where it had better take these, or else 0;
# and the list of lanes of families that it touches (`core.mixtures`), where such an event can act
# beside a mixture, or else 0
NUMBER, ORDER, APART, SERIAL, READS, CHANGES, RESETS, BREAKS, RUNS, ALL_STEPS = range(10)
QUICK, FAMILY, NOTED, BEHIND, DIRECT, CELLS, GAINS, GAIN_CELLS, TOUCHES = range(10, 19)
SECTIONS = 19

# a reset: whether the class reads what it empties, first cell, length, rows, distance between them,
# and likewise its extremes
LATE, CELL, LONG, ROWS, STRIDE, OUTLIER, OUTLIER_ROWS, OUTLIER_STRIDE = range(8)
RESET_WORDS = 8

BLOCKS = 2  # the program's word that tells where blocks are; each is BLOCK_WORDS words:
# first cell, cells, first extreme, extremes
BLOCK_WORDS = 4
