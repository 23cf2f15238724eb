"""Sampling Hypothesis strategies by a random generator, for campaigns of many thousand cases.

Hypothesis records each choice in order to shrink failing cases, which takes most of the time of a
small case. `Sampler` makes the same choices by a `random.Random` and records none; a case is
reproduced by its seed. It supports the kinds of strategies that `support.trends` uses.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st


class Sampler:
    """Draws from strategies; also a replacement for `draw`.

    >>> Sampler(Random(1)).draw(st.lists(st.sampled_from("ab"), min_size=3, max_size=3))
    ['a', 'b', 'a']
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    def draw(self, strategy: st.SearchStrategy[Any]) -> Any:
        """Return a value of a strategy; raises UnsatisfiedAssumption if `assume` fails."""
        inner: Any = getattr(strategy, "wrapped_strategy", strategy)
        match type(inner).__name__:
            case "SampledFromStrategy":
                return self._random.choice(inner.elements)
            case "IntegersStrategy":
                return self._random.randint(inner.start, inner.end)
            case "BooleansStrategy":
                return self._random.random() < 0.5
            case "JustStrategy":
                return inner.value
            case "OneOfStrategy":
                return self.draw(self._random.choice(inner.element_strategies))
            case "MappedStrategy":
                return inner.pack(self.draw(inner.mapped_strategy))
            case "CompositeStrategy":
                return inner.definition(self.draw, *inner.args, **inner.kwargs)
            case "BuildsStrategy":
                keywords = {name: self.draw(value) for name, value in inner.kwargs.items()}
                return inner.target(*map(self.draw, inner.args), **keywords)
            case "TupleStrategy":
                return tuple(map(self.draw, inner.element_strategies))
            case "ListStrategy":
                return [self.draw(inner.element_strategy) for _ in self._size(inner)]
            case "UniqueSampledListStrategy":
                elements = inner.element_strategy.elements
                return self._random.sample(elements, len(self._size(inner)))
            case "PermutationStrategy":
                return self._random.sample(inner.values, len(inner.values))
            case "LazyStrategy":  # a lazy strategy may wrap another lazy one
                return self.draw(inner)
            case kind:
                raise TypeError(f"not known how to draw from {kind}")

    def _size(self, lists: Any) -> range:
        return range(self._random.randint(lists.min_size, int(lists.max_size)))
