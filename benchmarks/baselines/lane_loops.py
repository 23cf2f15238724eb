"""The baselines for many queries `SEQ(X_i, B+)` in windows: loops compiled by Numba.

Each query in each open window is a lane, and lanes lie side by side, so that a pass over them is
compiled to vector instructions. `sums` keeps running sums, for COUNT(*) and the sum of an
attribute; where one passes 1e150, the lane is scaled by 2**-256. `rising` counts the trends in
which `b[i].v >= b[i-1].v`, in a Fenwick tree over the ranks of a window's values whose rows are
lanes; each window by itself.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numba import njit

from benchmarks.baselines.plain_loop import Doubles, columns

_DOWN = 2.0**-256
_GREAT = 1e150


def sums(table: pa.Table, queries: int, within: int, slide: int) -> tuple[Doubles, Doubles]:
    """Return, by window and query, the logarithm of the count, and the average of B's values.

    within and slide: microseconds; windows begin at multiples of slide, from that of the first
    event on; those that begin before the first event are left out.
    """
    times, kinds, values = columns(table)
    windows = int(times[-1] // slide - times[0] // slide) + 1
    logs = np.full((windows, queries), -np.inf)
    averages = np.zeros((windows, queries))
    _sums(times, kinds, values, within, slide, logs, averages)
    return logs, averages


@njit(nogil=True, error_model="numpy")
def _sums(times, kinds, values, within, slide, logs, averages):
    queries = logs.shape[1]
    overlap = -(-within // slide)
    state = np.zeros((5, overlap * queries))  # begun, trends, sums, numbers of B, powers
    begun, trends, added, counted, power = state
    first = times[0] // slide
    opened, closed = first - 1, first  # the last window that is open; the first one that is
    for event in range(len(kinds)):
        time = times[event]
        while closed <= opened and time >= closed * slide + within:
            _close(state, closed, overlap, queries, logs[closed - first], averages[closed - first])
            closed += 1
        opened = time // slide
        closed = max(closed, (time - within) // slide + 1)
        if kinds[event] > 0:
            for window in range(closed, opened + 1):
                lane = window % overlap * queries + kinds[event] - 1
                begun[lane] += 2.0 ** (-256.0 * power[lane])
            continue
        value, passed = values[event], False
        for lane in range(overlap * queries):
            new = begun[lane] + trends[lane]
            trends[lane] += new
            added[lane] += added[lane] + new * value
            counted[lane] += counted[lane] + new
            passed |= counted[lane] > _GREAT
        if passed:
            for lane in range(overlap * queries):
                if counted[lane] > _GREAT:
                    for row in range(4):
                        state[row, lane] *= _DOWN
                    power[lane] += 1.0
    while closed <= opened:
        _close(state, closed, overlap, queries, logs[closed - first], averages[closed - first])
        closed += 1


@njit(nogil=True, error_model="numpy")
def _close(state, window, overlap, queries, logs, averages):
    for query in range(queries):
        lane = window % overlap * queries + query
        logs[query] = np.log2(state[1, lane]) + 256.0 * state[4, lane]
        averages[query] = state[2, lane] / state[3, lane]
        state[:, lane] = 0.0


def counts(table: pa.Table, queries: int, within: int, slide: int) -> Doubles:
    """Return, by window and query, the logarithm of the count; see `sums`."""
    times, kinds, _ = columns(table)
    windows = int(times[-1] // slide - times[0] // slide) + 1
    logs = np.full((windows, queries), -np.inf)
    _counts(times, kinds, within, slide, logs)
    return logs


@njit(nogil=True, error_model="numpy")
def _counts(times, kinds, within, slide, logs):
    queries = logs.shape[1]
    overlap = -(-within // slide)
    begun, trends, power = np.zeros((3, overlap * queries))
    first = times[0] // slide
    opened, closed = first - 1, first
    for event in range(len(kinds)):
        time = times[event]
        while closed <= opened and time >= closed * slide + within:
            _close_counts(begun, trends, power, closed % overlap * queries, logs[closed - first])
            closed += 1
        opened = time // slide
        closed = max(closed, (time - within) // slide + 1)
        if kinds[event] > 0:
            for window in range(closed, opened + 1):
                lane = window % overlap * queries + kinds[event] - 1
                begun[lane] += 2.0 ** (-256.0 * power[lane])
            continue
        passed = False
        for lane in range(overlap * queries):
            trends[lane] += trends[lane] + begun[lane]
            passed |= trends[lane] > _GREAT
        if passed:
            for lane in range(overlap * queries):
                if trends[lane] > _GREAT:
                    trends[lane] *= _DOWN
                    begun[lane] *= _DOWN
                    power[lane] += 1.0
    while closed <= opened:
        _close_counts(begun, trends, power, closed % overlap * queries, logs[closed - first])
        closed += 1


@njit(nogil=True, error_model="numpy")
def _close_counts(begun, trends, power, lane, logs):
    for query in range(len(logs)):
        logs[query] = np.log2(trends[lane + query]) + 256.0 * power[lane + query]
        begun[lane + query] = trends[lane + query] = power[lane + query] = 0.0


def rising(table: pa.Table, queries: int, within: int, slide: int) -> Doubles:
    """Return, by window and query, the logarithm of the count of trends whose B events rise.

    within and slide: as for `sums`. Counts have to be below 1e300.
    """
    times, kinds, values = columns(table)
    first, last = int(times[0] // slide), int(times[-1] // slide)
    logs = np.full((last - first + 1, queries), -np.inf)
    for window in range(first, last + 1):
        begin, end = np.searchsorted(times, [window * slide, window * slide + within])
        _rising(kinds[begin:end], values[begin:end], logs[window - first])
    return logs


@njit(nogil=True, error_model="numpy")
def _rising(kinds, values, logs):
    queries = len(logs)
    order = np.argsort(values)
    ranks = np.empty(len(values), np.int64)
    rank = 0
    for place in range(len(order)):
        if place and values[order[place]] != values[order[place - 1]]:
            rank += 1
        ranks[order[place]] = rank
    tree = np.zeros((rank + 2, queries))
    begun, new, whole = np.zeros(queries), np.zeros(queries), np.zeros(queries)
    for event in range(len(kinds)):
        if kinds[event] > 0:
            begun[kinds[event] - 1] += 1.0
            continue
        for query in range(queries):
            new[query] = begun[query]
        at = ranks[event] + 1
        while at > 0:
            row = tree[at]
            for query in range(queries):
                new[query] += row[query]
            at &= at - 1
        for query in range(queries):
            whole[query] += new[query]
        at = ranks[event] + 1
        while at < len(tree):
            row = tree[at]
            for query in range(queries):
                row[query] += new[query]
            at += at & -at
    for query in range(queries):
        logs[query] = np.log2(whole[query])
