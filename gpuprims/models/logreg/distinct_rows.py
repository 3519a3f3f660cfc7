"""The distinct rows of a matrix of integers, if they are few, without sorting all rows."""

from __future__ import annotations

import numpy as np

# Rows of the sample that finds most kinds, and rows looked up at once, which stay in a core's cache (measurements.md,
# strings of few kinds).
_SAMPLE, _BLOCK = 1 << 12, 1 << 14
# Most kinds, the base-2 logarithm of the largest table, and most tables that are tried until no two kinds collide.
_MOST, _MOST_BITS, _TRIALS = 2000, 22, 16


class _Table:
    """A hash table of kinds, by the columns in which they differ; ``apart`` is True if no two kinds collide."""

    def __init__(self, columns: list[int], factors: np.ndarray, bits: int, kinds: np.ndarray) -> None:
        self._columns, self._factors, self._shift = columns, factors, np.uint64(64 - bits)
        self._numbers = np.zeros(1 << bits, np.uint16)
        places = self.places(kinds)
        self._numbers[places] = np.arange(len(kinds))
        self.apart = len({*places.tolist()}) == len(kinds)

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Return the place of each row in the table."""
        hashes = rows[:, self._columns[0]] * self._factors[0]
        for column, factor in zip(self._columns[1:], self._factors[1:], strict=True):
            hashes += rows[:, column] * factor
        found: np.ndarray = (hashes >> self._shift).view(np.int64)
        return found

    def look_up(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of the kind with each row's hash, the only kind that the row can be."""
        found: np.ndarray = self._numbers.take(self.places(rows))
        return found


def few_kinds(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the distinct rows of a C-contiguous matrix of unsigned integers, and the number of each row's kind.

    None if there are more than 2,000 kinds. A sample finds most of them. Each row is looked up in a hash table by the
    columns in which kinds differ, and compared with the kind that is found. If they differ, the row is a new kind.
    """
    kinds = _distinct(rows[:: max(len(rows) // _SAMPLE, 1)])
    table, numbers, start, size = _table_of(kinds), np.empty(len(rows), np.uint16), 0, _BLOCK
    while start < len(rows):
        if table is None:
            return None
        some = rows[start : start + size]
        found = table.look_up(some)
        alike = kinds.take(found, axis=0) == some
        if alike.all():
            numbers[start : start + size] = found
            start += size
        else:
            kinds = np.concatenate([kinds, _distinct(some[~alike.all(axis=1)])])
            table = _table_of(kinds)
            size *= 2  # so that few tables are made
    return kinds, numbers


def _distinct(rows: np.ndarray) -> np.ndarray:
    """Return the distinct rows of a small matrix, by a set."""
    seen = {row.tobytes() for row in rows}
    return np.frombuffer(b"".join(sorted(seen)), rows.dtype).reshape(-1, rows.shape[1])


def _table_of(kinds: np.ndarray) -> _Table | None:
    """Return a table of the kinds; None if there are too many of them."""
    if len(kinds) > _MOST:
        return None
    columns, rng = _distinguishing_columns(kinds), np.random.default_rng(0)
    bits = min(2 * len(kinds).bit_length(), _MOST_BITS)
    for _ in range(_TRIALS):
        factors = rng.integers(0, 2**63, len(columns), np.uint64) * np.uint64(2) + np.uint64(1)
        if (table := _Table(columns, factors, bits, kinds)).apart:
            return table
    return None


def _distinguishing_columns(kinds: np.ndarray) -> list[int]:
    """Return columns that distinguish all kinds: the one with most values, then the ones that separate most."""
    columns: list[int] = []
    rows: list[tuple[int, ...]] = [()] * len(kinds)
    while len({*rows}) < len(kinds):
        ways = [[(*row, value) for row, value in zip(rows, column, strict=True)] for column in kinds.T.tolist()]
        columns.append(max(range(len(ways)), key=lambda column: len({*ways[column]})))
        rows = ways[columns[-1]]
    return columns or [0]
