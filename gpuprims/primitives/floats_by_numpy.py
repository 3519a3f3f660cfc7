"""Folds and scans of few floats in the order in which kernels for CPUs fold them, so with the same bits.

A module in C has them, and those by NumPy here are for machines without a C compiler.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import Few
from gpuprims.core.c_modules import CModule
from gpuprims.core.device import Device

FLOATS = CModule(Path(__file__).with_name("floats.c"))
# Most elements that are folded so, with the module in C and without it. Rows: by_numpy-floats.
_FEW_IN_C, _FEW = Few(near=2**15, woken=2**15), Few(near=0, woken=2**15)
# As in reduce_cpu_chunks.cl: bytes of all lanes, elements of a run in each, and those that are folded at once.
_LANES_BYTES, _RUN, _TAKEN = 128, 64, 4
FEWEST_BY_LANES = 128  # fewer elements are folded one by one
# As in scan_cpu_chunks.cl: elements of a run, and of the runs that are scanned at a time.
_SCANNED, _AT_A_TIME = 8, 64
# NumPy scans fewer elements in less time run by run than element by element of all runs (rows: by_numpy-floats).
_BY_RUNS = 2048


def in_c(device: Device) -> bool:
    """Return True if calls on few floats of a device run in C; if they may soon, ask for the module."""
    return FLOATS.serves(device.driver) is not None


def few_floats(device: Device) -> Few:
    """Return how many floats a device's calls fold or scan here."""
    return _FEW_IN_C if in_c(device) else _FEW


def fold_floats(op: np.ufunc, identity: float, x: np.ndarray) -> Any:
    """Return the sum or the product of contiguous floats, as reduce/cpu_chunks folds them in one part.

    Without the module in C, of more than 128.
    """
    if FLOATS.calls is not None:
        return FLOATS.calls.fold(x, op is np.multiply)
    with np.errstate(all="ignore"):
        return folded_by_numpy(op, identity, x.ravel())


def dot_floats(x: np.ndarray, y: np.ndarray) -> Any:
    """Return the sum of the products of contiguous floats, in C, as reduce/cpu_chunks adds them in one part."""
    return FLOATS.calls.dot(x, y)


def scan_floats(x: np.ndarray) -> np.ndarray:
    """Return the sums up to each of contiguous floats, as scan/cpu_chunks adds them in one chunk."""
    if FLOATS.calls is not None:
        return FLOATS.calls.scan(x)  # type: ignore[no-any-return]
    with np.errstate(all="ignore"):
        return scanned_by_numpy(x.ravel())


def has_nan(x: Any) -> bool:
    """Return True if one of some floats, or a float, is NaN."""
    if FLOATS.calls is not None and isinstance(x, np.ndarray) and x.flags.c_contiguous:
        return FLOATS.calls.has_nan(x)  # type: ignore[no-any-return]
    most = np.maximum.reduce(x, None)
    return bool(most != most)


def folded_by_numpy(op: np.ufunc, identity: float, x: np.ndarray) -> Any:
    """Fold floats along one axis.

    Lanes fold runs, four elements of each lane at a time; pairs of runs are folded, then pairs of pairs, and so on, and
    last the lanes.
    """
    lanes = _LANES_BYTES // x.itemsize
    runs = x.size // (_RUN * lanes)
    whole = runs * _RUN * lanes
    earlier = _levels(op, _by_fours(op, x[:whole].reshape(runs, -1, _TAKEN, lanes))) if runs else []
    folded = _rest(op, identity, x[whole:], lanes) if whole < x.size else earlier.pop(0)
    for level in earlier:
        folded = op(level, folded)
    while (half := len(folded) // 2) > 0:
        folded = op(folded[:half], folded[half:])
    return folded[0] + x.dtype.type(0) if op is np.add else folded[0]  # lanes of a sum begin with 0, so no -0 is left


def _by_fours(op: np.ufunc, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Fold the four elements along the last axis but one."""
    folded: np.ndarray = op(x[..., 0, :], x[..., 1, :], out)
    return op(folded, op(x[..., 2, :], x[..., 3, :]), folded)  # type: ignore[no-any-return]


def _levels(op: np.ufunc, fours: np.ndarray) -> list[np.ndarray]:
    """Fold runs, and those pairwise; return what has no partner, that of the fewest runs first."""
    runs, levels = op.reduce(fours, axis=1), list[np.ndarray]()
    while len(runs):
        if len(runs) % 2:
            levels.append(runs[-1])
        runs = op(runs[: len(runs) // 2 * 2 : 2], runs[1::2])
    return levels


def _rest(op: np.ufunc, identity: float, x: np.ndarray, lanes: int) -> Any:
    """Fold a run that is not whole, in each lane."""
    fours = x.size // (_TAKEN * lanes)
    whole = fours * _TAKEN * lanes
    rows = np.empty((fours - (whole - x.size) // lanes, lanes), x.dtype)
    if fours:
        _by_fours(op, x[:whole].reshape(fours, _TAKEN, lanes), rows[:fours])
    if whole < x.size:
        rows[-1] = identity  # of the lanes that have one element less
        rows[fours:].ravel()[: x.size - whole] = x[whole:]
    return op.reduce(rows)


def scanned_by_numpy(x: np.ndarray) -> np.ndarray:
    """Scan floats along one axis.

    Runs of eight elements are scanned each from 0, then what comes before them is added. Elements behind the last 64
    are added one by one.
    """
    whole, before = x.size // _AT_A_TIME * _AT_A_TIME, np.zeros(1, x.dtype)
    sums = np.empty(x.size, x.dtype)
    if whole:
        runs = x[:whole].reshape(-1, _SCANNED)
        scanned = np.add.accumulate(runs, 1).T if x.size < _BY_RUNS else _scanned_runs(runs)
        before = np.empty(len(runs) + 1, x.dtype)
        before[0] = 0
        before[1:] = scanned[-1]
        np.add.accumulate(before, out=before)
        np.add(scanned.T, before[:-1, None], sums[:whole].reshape(-1, _SCANNED))
    if whole < x.size:
        rest = np.concatenate([before[-1:], x[whole:]])
        sums[whole:] = np.add.accumulate(rest)[1:]
    return sums


def _scanned_runs(runs: np.ndarray) -> np.ndarray:
    """Scan rows, which become columns: an element of each row at a time."""
    scanned = runs.T.copy()
    for earlier, element in pairwise(scanned):
        np.add(earlier, element, element)
    return scanned
