"""Scans in an order that is the same on every device: operations depend on the elements alone.

An output's elements lie in tiles of ``TILE``, and those of a tile in runs of ``RUN``. Elements of a run fold one after
the other. The folds of a tile's runs are scanned by halves (J. Sklansky, "Conditional-Sum Addition Logic", IRE
Transactions on Electronic Computers EC-9, 1960): of each 2, 4, 8, ... runs, those of the second half follow the fold of
the first half. Folds of whole tiles are the elements of another such scan, which gives what lies before each tile. So a
result is the fold of three values:

    (the tiles before, with the runs before in its tile), with the elements of its run; where nothing lies before, the
    identity

A result depends on no later element, so it does not matter how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.layout import VECTOR_BYTES
from gpuprims.core.traits import CallTraits
from gpuprims.expressions import c_type
from gpuprims.primitives.fold_spec import ScanSpec

RUN, TILE = 16, 4096
_KERNELS = Path(__file__).parent / "scan/kernels"
# How kernels find what is before tiles, turn runs in local memory, and fold by halves in registers.
FIXED_TILES, TURNING, HALVES = (_KERNELS / f"{name}.h" for name in ("fixed_tiles", "turning", "halves"))

# Bytes of numbers that move through local memory in vectors.
_MOVED = (4, 8)

Values = list[np.ndarray]
Fold = Callable[..., Sequence[np.ndarray]]


def in_two_levels(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse more elements than a tile of tiles has."""
    if call.size <= TILE * TILE:
        return None
    return f"is for at most {TILE * TILE} elements along an axis; this call has {call.size}"


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedScanSpec(ScanSpec):
    """The macros of a scan in this order, without contraction."""

    contracted: ClassVar[bool] = False


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedTilesSpec(FixedScanSpec):
    """The macros of a scan in this order whose groups take several tiles at once."""

    run: int  # elements of a run
    runs: int  # of a tile
    lookups: int  # statuses that a work-item reads

    def macros(self) -> dict[str, int | str]:
        """Define the order, and how values lie in local memory."""
        macros: dict[str, int | str] = {"RUN_ITEMS": self.run, "TILE_RUNS": self.runs, "LOOKUPS": self.lookups}
        return super().macros() | macros | {"HALVES": self.runs.bit_length() - 1} | slots_of(self.values, self.run)

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), FIXED_TILES, TURNING)


def slots_of(values: tuple[np.dtype[Any], ...], run: int) -> dict[str, int | str]:
    """Return the macros of values that lie side by side in local memory: several of a few bytes are moved at once."""
    only = values[0]
    if len(values) == 1 and only.kind != "c" and only.itemsize in _MOVED:
        return {"SLOT": min(VECTOR_BYTES // only.itemsize, run), "SLOT_TYPE": c_type(only)}
    return {"SLOT": 1}


def scan_fixed(op: Fold, values: Values, identity: tuple[Any, ...], *, inclusive: bool) -> Values:
    """Scan rows, of one element or more, as kernels of this order do."""
    rows, n = values[0].shape
    tiles = -(-n // TILE)
    runs: Values = []
    for value, scalar in _both(values, identity):
        padded = np.full((rows, tiles * TILE), scalar, value.dtype)
        padded[:, :n] = value
        runs.append(padded.reshape(rows, tiles, TILE // RUN, RUN))
    for k in range(1, RUN):
        _put(runs, np.s_[..., k], op(*(v[..., k - 1] for v in runs), *(v[..., k] for v in runs)))
    ends, half = [value[..., -1].copy() for value in runs], 1
    while half < TILE // RUN:
        pairs = [value.reshape(rows, tiles, -1, 2, half) for value in ends]
        _put(pairs, np.s_[..., 1, :], op(*(v[..., 0, -1:] for v in pairs), *(v[..., 1, :] for v in pairs)))
        half *= 2
    earlier = [np.full((rows, tiles), i, value.dtype) for value, i in _both(values, identity)]
    if tiles > 1:
        earlier = scan_fixed(op, [value[..., -1] for value in ends], identity, inclusive=False)
    before = list(op(*(value[..., np.newaxis] for value in earlier), *_later(ends, identity)))
    whole = [value[..., np.newaxis] for value in before]
    results = list(op(*whole, *runs))
    if not inclusive:
        results = [np.concatenate([b, r[..., :-1]], axis=-1) for b, r in zip(whole, results, strict=True)]
    return [result.reshape(rows, -1)[:, :n] for result in results]


def _later(values: Values, identity: tuple[Any, ...]) -> Values:
    """Move values one place on along the last axis, after the identity."""
    return [np.concatenate([np.full_like(v[..., :1], i), v[..., :-1]], axis=-1) for v, i in _both(values, identity)]


def _both(values: Values, identity: tuple[Any, ...]) -> Any:
    return zip(values, identity, strict=True)


def _put(places: Values, at: Any, results: Sequence[np.ndarray]) -> None:
    for place, result in zip(places, results, strict=True):
        place[at] = result
