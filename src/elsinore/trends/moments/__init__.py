"""Simultaneous events found before they act: each key's last event of a batch waits for the next.

Events of one time do not precede one another, which takes that states before the
present moment are kept, and rules out that bursts are shared. Most streams have no two events of a
key and a time. So an operator begins as if there were none and looks for them ahead of its work;
from the first on it remembers moments.
"""
