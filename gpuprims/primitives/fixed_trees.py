"""Folds by a tree that is the same on every device: its operations and their order depend on the elements alone.

An output's elements lie in blocks of ``lanes * RUN``. A lane has at most ``RUN`` elements of a block. It folds each
four of them, a to d, as ``(a + b) + (c + d)``, and the fours one after the other. Then the lanes of a block fold
pairwise, and blocks fold with their neighbours, pairwise too:

    commutative     lane i has elements i, i + lanes, i + 2 lanes, ...; lanes i and i + lanes / 2 fold first
    in order        lane i has elements i RUN, i RUN + 1, ...; lanes 2 i and 2 i + 1 fold first
    blocks          blocks 2 i and 2 i + 1 fold first, then pairs of these

What is missing, at the end, is not folded. So a group may take any 2^k neighbouring blocks that begin at a multiple of
2^k: their fold is a node of the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

RUN = 16
# Lanes of values that have few bytes, and of others, for which a group needs less local memory. Elements of a lane that
# CPUs load at once lie in different pages, because a page has one stream that is fetched ahead (rows: cpu_fixed).
_LANES, _LANES_OF_MANY, _FEW_BYTES = 1024, 512, 24

Values = list[np.ndarray]
Fold = Callable[..., Sequence[np.ndarray]]


def lanes_of(nbytes: int) -> int:
    """Return the lanes of a block of values of ``nbytes`` bytes."""
    return _LANES if nbytes <= _FEW_BYTES else _LANES_OF_MANY


def fold_fixed(op: Fold, values: Values, lanes: int, *, commutative: bool) -> Values:
    """Fold rows, of one element or more, to one value each, as kernels of the fixed tree do."""
    rows, n = values[0].shape
    whole = n // (lanes * RUN) * lanes * RUN
    blocks: list[Values] = []
    if whole:
        blocks.append([value[:, :whole].reshape(rows, -1, lanes * RUN) for value in values])
    if whole < n:
        blocks.append([value[:, np.newaxis, whole:] for value in values])
    folded = [_fold_blocks(op, block, lanes, commutative) for block in blocks]
    joined = [np.concatenate([block[k] for block in folded], axis=1) for k in range(len(values))]
    return [value[:, 0] for value in _fold_neighbours(op, joined)]


def _fold_blocks(op: Fold, values: Values, lanes: int, commutative: bool) -> Values:
    """Fold the elements of blocks, along the last axis."""

    def of_lanes(k: int) -> Values:
        """Return element k of the lanes that have it."""
        return [value[..., k * lanes : (k + 1) * lanes] if commutative else value[..., k::RUN] for value in values]

    folded: Values = []
    for k in range(0, RUN, 4):
        a, b, c, d = (of_lanes(place) for place in range(k, k + 4))
        four = _fold_some(op, _fold_some(op, a, b), _fold_some(op, c, d))
        folded = _fold_some(op, folded, four) if k else four
    if commutative:
        half = lanes // 2
        while half:
            first, second = [value[..., :half] for value in folded], [value[..., half:] for value in folded]
            folded, half = _fold_some(op, first, second), half // 2
    else:
        folded = _fold_neighbours(op, folded)
    return [value[..., 0] for value in folded]


def _fold_some(op: Fold, lanes: Values, others: Values) -> Values:
    """Fold lanes with others, which the last ones may lack."""
    have = others[0].shape[-1]
    if not have:
        return lanes
    folded = op(*(lane[..., :have] for lane in lanes), *others)
    return [np.concatenate([f, lane[..., have:]], axis=-1) for f, lane in zip(folded, lanes, strict=True)]


def _fold_neighbours(op: Fold, values: Values) -> Values:
    """Fold neighbours along the last axis until one value is left."""
    while values[0].shape[-1] > 1:
        first, second = [value[..., 0::2] for value in values], [value[..., 1::2] for value in values]
        values = _fold_some(op, first, second)
    return values
