"""The module that machines' code is in, which is written when queries are compiled.

It holds nothing: what is compiled is kept with the name of the module that it is from, and there
has to be one.
"""
