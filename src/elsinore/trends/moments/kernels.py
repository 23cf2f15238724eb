"""Looking for simultaneous events, and bringing all keys up to date when there are some."""

from __future__ import annotations

from elsinore.trends.arrays import COMPILE, DONE, NEVER, UNKNOWN, Codes, Doubles, Ints, State
from elsinore.trends.exponents.kernels import begin_exponents
from elsinore.trends.lazy.arrays import Bursts, Clocks, Groups
from elsinore.trends.lazy.kernels import end_bursts, settle_all
from elsinore.trends.wide import wide_kernel

TIE = 5  # how a look ends beside DONE and COMPILE: an event is not later than its key's last one


@wide_kernel
def is_spaced(
    times: Ints, keys: Codes, slot_key: Codes, slot_time: Ints, held_key: Codes, held_time: Ints
) -> bool:
    """Return whether each event is later than the one before it, if that is of the same key.

    Where keys come one after another in slot 0, none are simultaneous then, whatever they act on.
    A quick look: the loop does not branch. Arguments as for `look`, with at least one event.
    """
    if times[0] < _least_time(0, keys[0], slot_key, slot_time, held_key, held_time):
        return False
    close = False
    for event in range(1, times.shape[0]):
        close |= (times[event] <= times[event - 1]) & (keys[event] == keys[event - 1])
    return not close


@wide_kernel
def last_acting(codes: Ints, known: Codes) -> int:
    """Return the last event that may act on something, -1 where there is none."""
    event = codes.shape[0] - 1
    while event >= 0 and (codes[event] < 0 or known[codes[event]] == -1):
        event -= 1
    return event


@wide_kernel
def look(
    begin: int,
    count: int,
    one_slot: bool,
    times: Ints,
    keys: Codes,
    codes: Ints,
    known: Codes,
    slot_key: Codes,
    slot_time: Ints,
    held_key: Codes,
    held_time: Ints,
    last: Ints,
    touched: Ints,
) -> tuple[int, int, int]:
    """Look for an event from `begin` on that is not later than the one before it of its key.

    times, keys, codes, known, one_slot: as for `run`; events that act on nothing are passed over.
    The one before it is in the batch, or waits (held_key, held_time: [slot]), or has acted
    (slot_key, slot_time: [slot]). last: [slot] -> the key's last event in the batch so far, -1
    where there is none; touched[:count]: the slots of those that have one. Both are brought up to
    date. Returns how it ended (DONE, TIE, or COMPILE: to be resumed), the event it ended at, and
    the count.
    """
    for event in range(begin, times.shape[0]):
        code = codes[event]
        if code < 0:
            continue
        kind = known[code]
        if kind < 0:
            if kind == UNKNOWN:
                return COMPILE, event, count
            continue
        key = keys[event]
        slot = 0 if one_slot else key
        time = times[event]
        row = last[slot]
        if row >= 0:
            if time <= times[row] and keys[row] == key:
                return TIE, event, count
        else:
            if time < _least_time(slot, key, slot_key, slot_time, held_key, held_time):
                return TIE, event, count
            touched[count] = slot
            count += 1
        last[slot] = event
    return DONE, times.shape[0], count


@wide_kernel(inline=True)
def _least_time(
    slot: int, key: int, slot_key: Codes, slot_time: Ints, held_key: Codes, held_time: Ints
) -> int:
    """Return from when on a key's first event in a batch is in order, and alone."""
    if held_key[slot] == key:
        return held_time[slot] + 1
    return slot_time[slot] if slot_key[slot] == key else NEVER


@wide_kernel
def settle_keys(
    groups: Groups, clocks: Clocks, bursts: Bursts, state: State, rows: Doubles
) -> bool:
    """End all keys' bursts and bring all holders up to date.

    Returns whether a number has passed 2**384: then there must be exponents before anything else.
    """
    any_passed = False
    for slot in range(state.key.shape[0]):
        if state.key[slot] < 0:
            continue
        end_bursts(clocks, bursts, slot)
        if settle_all(groups, clocks, bursts, state, rows, slot):
            begin_exponents(state, slot)
            any_passed = True
    return any_passed
