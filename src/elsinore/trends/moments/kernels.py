"""Looking for simultaneous events, and bringing all keys up to date when there are some."""

from __future__ import annotations

from numba import njit

from elsinore.trends.arrays import COMPILE, DONE, UNKNOWN, Codes, Doubles, Ints, State
from elsinore.trends.lazy.arrays import Bursts, Clocks, Groups
from elsinore.trends.lazy.kernels import end_bursts, settle_all
from elsinore.trends.moments.arrays import Held

TIE = 5  # how a look ends beside DONE and COMPILE: an event is not later than its key's last one


@njit(cache=True, nogil=True, _nrt=False)
def look(
    begin: int,
    count: int,
    times: Ints,
    keys: Codes,
    codes: Ints,
    known: Codes,
    one_slot: bool,
    state: State,
    held: Held,
    touched: Ints,
) -> tuple[int, int, int]:
    """Look for an event from `begin` on that is not later than the one before it of its key.

    Arguments as for `run`; events that act on nothing are passed over. The one before it is in the
    batch or in `held`. `held.row` comes to have each key's last event, and touched[:count] the
    slots of those keys. Returns how it ended (DONE, TIE, or COMPILE: to be resumed), the event
    it ended at, and the count.

    The slow form: some key has two acting events, neighbours among its own, of which the second
    has not the greater time.
    """
    slot_key, slot_time = state.key, state.time
    held_key, held_time, last = held.key, held.time, held.row
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
            if held_key[slot] == key:
                if time <= held_time[slot]:
                    return TIE, event, count
            elif slot_key[slot] == key and time < slot_time[slot]:
                return TIE, event, count
            touched[count] = slot
            count += 1
        last[slot] = event
    return DONE, times.shape[0], count


@njit(cache=True, nogil=True, _nrt=False)
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
            state.big[slot] = 1
            any_passed = True
    return any_passed
