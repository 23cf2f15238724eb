"""Fingerprints: digests of what a plan means, the same in every process."""

from __future__ import annotations

import dataclasses
import hashlib


def fingerprint(meaning: object) -> str:
    """Return a digest that two values share only if they are equal.

    They are built of records, tuples, sets and plain values. The order of a set's members, which
    differs from process to process, does not matter, nor do fields that are not compared.

    >>> fingerprint((1, frozenset("ab"))) == fingerprint((1, frozenset("ba")))
    True
    """
    return hashlib.sha256(_told(meaning).encode()).hexdigest()[:16]


def _told(value: object) -> str:
    if dataclasses.is_dataclass(value):
        fields = (_told(getattr(value, f.name)) for f in dataclasses.fields(value) if f.compare)
        return f"{type(value).__name__}({','.join(fields)})"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(map(_told, value)))}}}"
    if isinstance(value, tuple):
        return f"({','.join(map(_told, value))})"
    return repr(value)
