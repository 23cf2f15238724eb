"""The examples in docstrings of compiled modules run as these are imported: compiled.

Pytest itself would import the files as plain Python.
"""

from importlib import import_module

from elsinore.compiled_modules import compiled_sources

for name, _ in compiled_sources():
    import_module(name)
