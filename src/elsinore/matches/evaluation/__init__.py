"""Other ways to evaluate match queries than the default, for comparison and where they are cheaper.

`runs`: an automaton's runs, as SASE+ has them (Agrawal et al., SIGMOD 2008), also with ZStream's
buffers (Mei and Madden, SIGMOD 2009). `main_run` and `construct`: *postponing*, with early filters
or without (SASE++, SIGMOD 2014, Section 5). All give the same matches.
"""
