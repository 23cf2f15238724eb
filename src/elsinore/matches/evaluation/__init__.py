"""Alternative ways to evaluate match queries, for comparison and where they are cheaper.

`runs`: the runs of an automaton, as in SASE+ (Agrawal et al., SIGMOD 2008), also with ZStream's
buffers (Mei and Madden, SIGMOD 2009). `main_run` and `construct`: *postponing*, with early filters
or without (SASE++, SIGMOD 2014, Section 5). All of them find the same matches.
"""
