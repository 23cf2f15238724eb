"""Other ways to evaluate match queries than the default, for comparison and where they are cheaper.

`runs`: an automaton's runs, as SASE+ has them (Agrawal et al., SIGMOD 2008), also with ZStream's
buffers (Mei and Madden, SIGMOD 2009). All give the same matches.
"""
