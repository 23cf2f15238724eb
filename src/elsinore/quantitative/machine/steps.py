"""What an item does: the transition of a control state, carried out instruction by instruction.

A transition computes all values in a frame before it changes a stream's registers, so that an item
at which a function raises changes nothing. The states of keys alone (`Keys`) are changed meanwhile;
`Moment.undo` has what they were.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from elsinore.errors import InputError
from elsinore.quantitative.machine.arithmetic import calculate, calculate_one
from elsinore.quantitative.machine.columns import Column, read_cell
from elsinore.quantitative.machine.frames import Buffer, Frame, grown
from elsinore.quantitative.machine.instructions import (
    APPEND,
    ATTRIBUTE,
    BINARY,
    BOOL,
    CALL,
    COLLECT,
    COMPARABLE,
    DOUBLE,
    FEED,
    FEED_ALL,
    FIELD,
    GREATER,
    INT,
    IS,
    JUMP,
    MOVE,
    NEW_KEYS,
    NONE,
    NOT,
    OBJECT,
    OPERATIONS,
    READ_BUFFER,
    ROOT,
    TRUTH,
    TUPLE,
)
from elsinore.quantitative.machine.memory import Control, Memory
from elsinore.quantitative.machine.moments import Keys, Moment
from elsinore.quantitative.machine.tagged import Tagged, boxed, copy_number, store
from elsinore.quantitative.machine.transitions import Transition, built


@cython.cfunc
def _code_of(keys: Keys, moment: Moment) -> cython.Py_ssize_t:
    """Return the code of the item's key; 0 for a new one, which is in the scratch frame then."""
    scratch: Tagged = moment.scratch
    whole: cython.longlong = -1
    if keys.attribute >= 0 and moment.is_row:
        _read_attribute(moment, keys.attribute, 0, scratch, 0)
        if scratch.values[0].tag == INT:
            whole = scratch.values[0].whole
            known: cython.Py_ssize_t = 0
            if 0 <= whole < keys.small_count:
                known = keys.small[whole]
            if known:
                return known
        key = boxed(scratch, 0)
    else:
        key = keys.program.key(moment.item())
    try:
        code: cython.Py_ssize_t = keys.codes.get(key, 0)
    except TypeError as error:
        raise InputError(
            f"The key {key!r} cannot be told from others: a {type(key).__name__} has no "
            "hash. Use a number, a text or a tuple."
        ) from error
    if not code:
        scratch.objects[0] = key
    elif whole >= 0 and whole < 65536:  # found without hashing from now on
        if whole >= keys.small_count:
            array = np.zeros(2 * whole + 64, np.int32)
            array[: keys.small_count] = keys.small_array[: keys.small_count]
            keys.small_array = keys.small = array
            keys.small_count = 2 * whole + 64
        keys.small[whole] = code
    return code


@cython.cfunc
def _feed(keys: Keys, moment: Moment, depth: cython.Py_ssize_t) -> cython.int:
    """Give an item to its own key."""
    code: cython.Py_ssize_t = _code_of(keys, moment)
    memory: Memory = keys.memory
    if keys.outputs:
        keys.outputs = {}
    if code:
        if moment.may_raise:
            moment.undo.append((keys, code, memory.state(code)))
        step(keys.program, memory, code, moment, depth + 1)
        return 0
    key = moment.scratch.objects[0]
    code = len(keys.names) + 1
    control, values = memory.state(0)
    memory.put(code, control, [v.copy() if isinstance(v, Keys) else v for v in values])
    step(keys.program, memory, code, moment, depth + 1)
    keys.add(key)
    if moment.may_raise:
        moment.undo.append((keys, code, None))
    return 0


@cython.cfunc
def _feed_all(keys: Keys, moment: Moment, depth: cython.Py_ssize_t) -> cython.int:
    """Give a synchronization item to all keys."""
    memory: Memory = keys.memory
    moment.undo.append((keys, -1, memory.copy()))
    moment.may_raise = True
    outputs: dict[Any, Any] = {}
    code: cython.Py_ssize_t
    for code in range(1, len(keys.names) + 1):
        found: Any = step(keys.program, memory, code, moment, depth + 1)
        if found is not None:
            outputs[keys.names[code - 1]] = built(found.value, moment.frames[depth + 1])
    step(keys.program, memory, 0, moment, depth + 1)
    keys.outputs = outputs
    return 0


@cython.cfunc
def step(
    program: object,
    memory: Memory,
    code: cython.Py_ssize_t,
    moment: Moment,
    depth: cython.Py_ssize_t,
) -> object:
    """Take an item; return the transition if there is a value, which is in the frame, else None."""
    owner: Any = program
    control: Any = memory.controls[code]
    if control is None:
        if depth == len(moment.frames):
            moment.frames.append(Frame())
        _carry_out(owner.first, memory, code, moment, depth)
        control = memory.controls[code]
    at: Control = control
    item_class: cython.Py_ssize_t = moment.item_class
    known: list[Any] = at.transitions
    transition: Any = known[item_class] if item_class < len(known) else None
    if transition is None:
        transition = owner.transition(at, item_class)
    while not isinstance(transition, Transition):
        moment.depth = -1  # a test in plain Python stands in no expression
        transition = transition.yes if transition.test(moment.item()) else transition.no
    chosen: Transition = transition
    if chosen.is_idle:
        return None
    if depth == len(moment.frames):
        moment.frames.append(Frame())
    _carry_out(chosen, memory, code, moment, depth)
    return None if chosen.value is None else chosen


def carry_out_first(program: Any, memory: Memory, moment: Moment) -> None:
    """Do what is done before any item, in the stream with the code 0."""
    _carry_out(program.first, memory, 0, moment, 0)


@cython.cfunc
def _carry_out(
    transition: Transition,
    memory: Memory,
    code: cython.Py_ssize_t,
    moment: Moment,
    depth: cython.Py_ssize_t,
) -> cython.int:
    """Carry out a transition's instructions, then change the state."""
    frame: Frame = moment.frames[depth]
    begin: cython.Py_ssize_t = code * memory.width
    number: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    register: cython.Py_ssize_t
    before: cython.int
    moment.depth = depth
    if frame.transition is not transition:
        if frame.values.shape[0] < transition.slots:
            moment.frames[depth] = frame = Frame(2 * transition.slots)
        frame.transition = transition
        constants: Tagged = transition.constants
        for number in range(transition.constant_count):
            slot = transition.constant_slots[number]
            if copy_number(frame, slot, constants, number) == OBJECT:
                frame.objects[slot] = constants.objects[number]
    for number in range(transition.load_count):
        slot = transition.loads[number]
        if copy_number(frame, slot, memory, begin + slot) == OBJECT:
            frame.objects[slot] = memory.objects[begin + slot]
    if transition.item >= 0:
        store(frame, transition.item, moment.item())
    if transition.count:
        if transition.may_raise:
            moment.may_raise = True
        _run(transition, frame, moment, depth)
    if memory.width < transition.target.size:
        memory.grow(memory.count, transition.target.size)
        begin = code * memory.width
    for number in range(transition.move_count):
        slot = transition.moves[2 * number]
        register = begin + transition.moves[2 * number + 1]
        before = memory.values[register].tag
        if copy_number(memory, register, frame, slot) == OBJECT:
            memory.objects[register] = frame.objects[slot]
        elif before == OBJECT:
            memory.objects[register] = None
    if not transition.stays:
        memory.controls[code] = transition.target
    return 0


@cython.cfunc
def _read_attribute(
    moment: Moment,
    number: cython.Py_ssize_t,
    by_key: cython.int,
    frame: Tagged,
    slot: cython.Py_ssize_t,
) -> cython.int:
    """Write an attribute of the item to a slot."""
    if moment.is_row:
        if number >= len(moment.rows_columns) or moment.rows_columns[number] is None:
            while len(moment.rows_columns) <= number:
                moment.rows_columns.append(None)
            moment.rows_columns[number] = moment.items.column(moment.attributes[number])
        if moment.rows_columns[number] is not None:
            column: Column = moment.rows_columns[number]
            read_cell(column, moment.row, frame, slot)
            return 0
    name = moment.attributes[number]
    item = moment.item()
    store(frame, slot, item[name] if by_key else getattr(item, name))
    return 0


@cython.cfunc
@cython.inline
def _truth(frame: Frame, slot: cython.Py_ssize_t) -> cython.int:
    """Return whether a value is true."""
    tag: cython.int = frame.values[slot].tag
    if BOOL <= tag <= INT:
        return 1 if frame.values[slot].whole else 0
    if tag == DOUBLE:
        return 1 if frame.values[slot].number != 0.0 else 0
    if tag == NONE:
        return 0
    return 1 if frame.objects[slot] else 0


@cython.cfunc
def _call(
    transition: Transition,
    frame: Frame,
    place: cython.Py_ssize_t,
    first: cython.int,
    count: cython.int,
) -> object:
    """Return the value of a function of Python."""
    function = transition.functions[place]
    one = boxed(frame, transition.arguments[first]) if count else None
    if count == 1:
        return function(one)
    if count == 2:
        return function(one, boxed(frame, transition.arguments[first + 1]))
    return function(
        *[boxed(frame, transition.arguments[first + number]) for number in range(count)]
    )


@cython.cfunc
def _run(
    transition: Transition, frame: Frame, moment: Moment, depth: cython.Py_ssize_t
) -> cython.int:
    """Carry out the instructions."""
    place: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t = transition.count
    truth: cython.int
    known: cython.int
    jump: cython.int = 0
    while place < end:
        code: cython.int = transition.code[place].code
        target: cython.int = transition.code[place].target
        left: cython.int = transition.code[place].left
        right: cython.int = transition.code[place].right
        frame.at = place
        place += 1
        if code <= GREATER:
            if not calculate(code, frame, target, left, right):
                store(frame, target, OPERATIONS[code](boxed(frame, left), boxed(frame, right)))
            jump = transition.code[frame.at].jump
        elif code <= ROOT:
            if not calculate_one(code, frame, target, left):
                store(frame, target, OPERATIONS[code](boxed(frame, left)))
        elif code == MOVE:
            if copy_number(frame, target, frame, left) == OBJECT:
                frame.objects[target] = frame.objects[left]
        elif code == JUMP:
            place = left
        elif code == NOT:
            frame.values[target].whole = 0 if _truth(frame, left) else 1
            frame.values[target].tag = BOOL
            jump = transition.code[frame.at].jump
        elif code == TRUTH:
            frame.values[target].whole = 1 if _truth(frame, left) else 0
            frame.values[target].tag = BOOL
            jump = transition.code[frame.at].jump
        elif code == IS:
            truth = 0
            known = (right + 1) % 4 - 1
            if known < 0:
                truth = frame.values[left].tag == NONE
            elif frame.values[left].tag == BOOL:
                truth = frame.values[left].whole == known
            frame.values[target].whole = truth if known == right else 1 - truth
            frame.values[target].tag = BOOL
            jump = transition.code[frame.at].jump
        elif code == ATTRIBUTE:
            _read_attribute(moment, left, right, frame, target)
        elif code == COMPARABLE:
            if frame.values[left].tag == OBJECT or (
                frame.values[left].tag == DOUBLE
                and frame.values[left].number != frame.values[left].number
            ):
                transition.functions[frame.at](boxed(frame, left))
        else:
            _run_with_objects(transition, frame, moment, depth)
        if jump:
            if _truth(frame, target):
                if jump < 0:
                    place = -jump - 1
            elif jump > 0:
                place = jump - 1
            jump = 0
    return 0


@cython.cfunc
def _run_with_objects(
    transition: Transition, frame: Frame, moment: Moment, depth: cython.Py_ssize_t
) -> cython.int:
    """Carry out the instruction at work, which works on objects."""
    keys: Keys
    buffer: Buffer
    line: cython.Py_ssize_t = frame.at
    code: cython.int = transition.code[line].code
    target: cython.int = transition.code[line].target
    left: cython.int = transition.code[line].left
    right: cython.int = transition.code[line].right
    function = transition.functions[line]
    if code == BINARY:
        store(frame, target, function(boxed(frame, left), boxed(frame, right)))
    elif code == CALL:
        store(frame, target, _call(transition, frame, line, left, right))
    elif code == TUPLE:
        frame.values[target].tag = OBJECT
        frame.objects[target] = tuple(
            [boxed(frame, transition.arguments[left + k]) for k in range(right)]
        )
    elif code == FIELD:
        value = boxed(frame, left)
        store(frame, target, getattr(value, function))
    elif code == READ_BUFFER:
        buffer = frame.objects[left]
        place: cython.Py_ssize_t = frame.values[right].whole - buffer.offset
        if copy_number(frame, target, buffer, place) == OBJECT:
            frame.objects[target] = buffer.objects[place]
    elif code == APPEND:
        frame.objects[target] = grown(
            frame.objects[transition.arguments[left]],
            frame.values[transition.arguments[left + 1]].whole,
            frame.values[transition.arguments[left + 2]].whole,
            frame,
            transition.arguments[left + 3],
        )
        frame.values[target].tag = OBJECT
    elif code == NEW_KEYS:
        frame.objects[target] = Keys(function)
        frame.values[target].tag = OBJECT
    else:
        keys = frame.objects[left]
        if code == COLLECT:
            frame.values[target].tag = OBJECT
            frame.objects[target] = dict(keys.outputs)
        elif code == FEED_ALL or (code == FEED and keys.program.test(moment.item())):
            _feed_all(keys, moment, depth)
        else:
            _feed(keys, moment, depth)
        moment.depth = depth
    return 0
