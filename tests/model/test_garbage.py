"""What is made while the collector waits is old to it afterwards, where it is much."""

from __future__ import annotations

import gc

from elsinore.model.garbage import MANY, without_garbage_collection


def test_many_objects_are_old_at_once_and_few_are_not() -> None:
    with without_garbage_collection():
        many: list[list[int]] = [[] for _ in range(2 * MANY)]
    young = {id(each) for each in gc.get_objects(generation=0)}
    assert not any(id(each) in young for each in many[:10])
    with without_garbage_collection():
        few: list[list[int]] = [[]]
    assert any(each is few[0] for each in gc.get_objects(generation=0))
    assert gc.isenabled()


def test_who_does_not_want_the_collector_is_left_alone() -> None:
    gc.disable()
    try:
        with without_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_objects_that_were_set_aside_stay_so() -> None:
    gc.freeze()
    try:
        aside = gc.get_freeze_count()
        with without_garbage_collection():
            many: list[list[int]] = [[] for _ in range(2 * MANY)]
        assert gc.get_freeze_count() >= aside - 100 > 0
        assert len(many) == 2 * MANY
    finally:
        gc.unfreeze()
