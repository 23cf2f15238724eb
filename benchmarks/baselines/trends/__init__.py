"""What HAMLET is compared with: other ways to sum up trends, on the same events.

MUSE, the other system that the paper names, is not here: the paper says of it only that it shares
statically (section 7).
"""
