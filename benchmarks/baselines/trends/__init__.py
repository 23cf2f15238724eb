"""Other methods of aggregating trends, with which HAMLET is compared on the same events.

MUSE, another system in the paper, is missing: the paper only says that it shares statically
(Section 7).
"""
