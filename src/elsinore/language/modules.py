"""Importing the Python modules that users name for a workload, and looking up objects in them.

The text of queries can name Python objects (`module:attribute`, or an aggregate's class), but never
causes an import: modules are imported only if the user names them, by `--python` or in Python.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import FunctionType, ModuleType

from elsinore.errors import QuerySemanticError, SetupError, Span, choices_text, did_you_mean, option
from elsinore.model.expression import LANGUAGE_FUNCTIONS

PROTOCOL = ("init", "step", "value")  # the methods of an aggregate


@dataclass(frozen=True, slots=True)
class Modules:
    """The modules in which objects are looked up, by name.

    >>> import json
    >>> Modules.from_arguments([json]).attribute("json:dumps") is json.dumps
    True
    """

    by_name: Mapping[str, ModuleType] = field(default_factory=dict)

    @classmethod
    def from_arguments(cls, arguments: Sequence[str | ModuleType]) -> Modules:
        """Import modules by name or file; raise SetupError if that fails."""
        by_name: dict[str, ModuleType] = {}
        for item in arguments:
            module = item if isinstance(item, ModuleType) else import_module_of(item)
            by_name[module.__name__] = module
        return cls(by_name)

    def attribute(
        self, reference: str, *, span: Span | None = None, query: str | None = None
    ) -> object:
        """Return the object named by `module:attribute`; attributes may be nested (`m:a.b`).

        Raises QuerySemanticError, at `span` of the query, for a module that the user did not name
        and for an unknown attribute.
        """
        name, colon, path = reference.partition(":")
        if not colon or not name or not path:
            raise QuerySemanticError(
                f"'{reference}' names no object of a module: write module:attribute, as in "
                "detectors:trend.",
                span=span,
                query=query,
            )
        if name not in self.by_name:
            names = list(self.by_name)
            raise QuerySemanticError(
                f"The module '{name}' is not among those that queries may use."
                f"{did_you_mean(name, names)} Name it with {option('python')} too: a query alone "
                f"runs no code. Modules: {choices_text(names)}.",
                span=span,
                query=query,
                choices=names,
            )
        value: object = self.by_name[name]
        for step in path.split("."):
            if not hasattr(value, step):
                names = [loaded for loaded in dir(value) if not loaded.startswith("_")]
                raise QuerySemanticError(
                    f"'{name}' has no '{path}'.{did_you_mean(step, names)}",
                    span=span,
                    query=query,
                    choices=names,
                )
            value = getattr(value, step)
        return value

    def aggregates(self) -> dict[str, type]:
        """Return the public classes of the modules with methods `init`, `step` and `value`."""
        return {
            name: value
            for module in self.by_name.values()
            for name, value in vars(module).items()
            if isinstance(value, type)
            and not name.startswith("_")
            and all(callable(getattr(value, method, None)) for method in PROTOCOL)
        }

    def functions(self) -> dict[str, Callable[..., object]]:
        """Return the functions that queries may call, by name.

        They are the modules' public functions with a return annotation, except those with the name
        of a built-in function of the language.
        """
        return {
            name: value
            for module in self.by_name.values()
            for name, value in vars(module).items()
            if isinstance(value, FunctionType)
            and value.__module__ == module.__name__
            and "return" in value.__annotations__
            and not name.startswith("_")
            and name.upper() not in LANGUAGE_FUNCTIONS
        }


def import_module_of(reference: str) -> ModuleType:
    """Import a module by its name or the path of its file, unless it is already imported.

    Names are also searched in the working directory. Raises SetupError if there is no such module
    or if it fails.
    """
    path = Path(reference)
    is_file = path.suffix == ".py" or len(path.parts) > 1
    name = path.stem if is_file else reference
    try:
        if is_file:
            return _import_file(path, name)
        if name in sys.modules:
            return sys.modules[name]
        if _is_missing(name):
            beside = Path(*name.split(".")).with_suffix(".py")
            if not beside.exists():
                raise SetupError(_missing(reference))
            return _import_file(beside, name)
        return import_module(name)
    except SetupError:
        raise
    except FileNotFoundError:
        raise SetupError(_missing(reference)) from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        reason = str(error) or type(error).__name__
        raise SetupError(
            f"The module '{reference}' cannot be imported: {last.filename}, line {last.lineno}: "
            f"{type(error).__name__}: {reason}"
        ) from error


def _is_missing(name: str) -> bool:
    try:
        return find_spec(name) is None
    except (ModuleNotFoundError, ValueError):
        return True


def _import_file(path: Path, name: str) -> ModuleType:
    path = path.resolve(strict=True)
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SetupError(f"'{path}' is not a Python module. Name a file that ends with .py.")
    module = module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
    return module


def _missing(reference: str) -> str:
    return (
        f"There is no module '{reference}'. {option('python')} takes the name of a module that "
        "Python finds, or the path of a file that ends with .py."
    )
