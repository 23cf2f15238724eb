"""Whether kernels are compiled by documented means alone, or by `undocumented` ones as well."""

from __future__ import annotations

import logging
import os
from functools import cache
from types import ModuleType

import numba

from elsinore.kernels.decorator import COMPILE_VARIABLE, DOCUMENTED

LOG = logging.getLogger("elsinore.kernels")


@cache
def shortcuts() -> ModuleType | None:
    """Return the module of undocumented means; None where kernels do without.

    They do so in releases of Numba that it was not tested with, where a name is missing, and with
    ELSINORE_COMPILE=documented in the environment.
    """
    if os.environ.get(COMPILE_VARIABLE) == DOCUMENTED:
        return None
    try:
        from elsinore.kernels import undocumented  # noqa: PLC0415 - it may fail
    except (ImportError, AttributeError) as error:
        _tell(f"does not have what kernels are compiled with ({error})")
        return None
    if ".".join(numba.__version__.split(".")[:2]) not in undocumented.TESTED:
        _tell("was not tested")
        return None
    return undocumented


def _tell(why: str) -> None:
    LOG.warning(
        "Numba %s %s: kernels compile and run more slowly, and are not kept.",
        numba.__version__,
        why,
    )
