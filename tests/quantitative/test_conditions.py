"""Conditions of functions, translated with their jumps, decide as Python's do."""

import itertools
import linecache
import os
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import elsinore.quantitative as qre
from elsinore.quantitative.items import as_item
from elsinore.quantitative.machine.instructions import CALL
from quantitative.test_instructions import codes

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "30"))
VALUES: list[Any] = [None, True, 0, 1.5, "a"]
FUNCTIONS = """
def helper(item):
    return {}

def f(item):
    x = {}
    if {}:
        x = 1 if ({}) else ({})
    elif {}:
        return {}
    else:
        x = x, ({})
    return x, ({})
"""

items = st.sampled_from(["item.a", "item.b", "item.c"])
operands = st.one_of(items, st.sampled_from(["0", "1", "None", "True", "(1, 2)"]))
operators = st.sampled_from(["<", "<=", "==", "!=", ">=", ">"])
comparisons = st.one_of(
    operands,
    st.builds("{} {} {}".format, operands, operators, operands),
    st.builds("{} {} {} {} {}".format, operands, operators, operands, operators, operands),
    st.builds("{} is {}".format, items, st.sampled_from(["None", "not None", "True"])),
)


def of_parts(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.tuples(st.sampled_from(["and", "or"]), st.lists(parts, min_size=2, max_size=3))
    return st.one_of(
        st.builds("not ({})".format, parts),
        joined.map(lambda pair: f" {pair[0]} ".join(f"({part})" for part in pair[1])),
        st.builds("({}) if ({}) else ({})".format, parts, parts, parts),
    )


conditions = st.recursive(comparisons, of_parts, max_leaves=6)
with_helper = st.one_of(
    conditions,
    st.builds("helper(item) {} ({})".format, st.sampled_from(["and", "or"]), conditions),
    st.builds("not helper(item)".format),
)


def functions_of(text: str) -> Any:
    """Return the function `f` of a text that can be read as that of a file."""
    scope: dict[str, Any] = {}
    name = f"<conditions {len(linecache.cache)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec", dont_inherit=True), scope)
    return scope["f"]


def result(compute: Any) -> str:
    try:
        return repr(compute())
    except qre.OperationError as error:
        return repr(error.__cause__)
    except Exception as error:
        return repr(error)


@given(conditions, st.lists(with_helper, min_size=8, max_size=8))
@settings(max_examples=EXAMPLES)
def test_a_condition_decides_as_that_of_python(helper: str, others: list[str]) -> None:
    function = functions_of(FUNCTIONS.format(helper, *others))
    query = qre.iter_last(qre.atom(qre.any, function))
    stream = query.start()
    for values in itertools.product(VALUES, repeat=3):
        item = as_item(dict(zip("abc", values, strict=True)))
        found = result(lambda: stream.push(item))  # noqa: B023
        assert found == result(lambda: function(item)), values  # noqa: B023
    assert CALL not in codes(query)
