"""The order in which a kernel visits axes, and how it splits an index into them."""

from __future__ import annotations

from collections.abc import Sequence


def divider(length: int) -> int:
    """Return a factor and a shift, in one number: ``(k * factor >> 32) >> shift == k // length`` for ``k < 2**31``.

    T. Granlund and P. L. Montgomery, "Division by invariant integers using multiplication", PLDI 1994.
    """
    bits = max(length - 1, 1).bit_length()
    return -(-(1 << 31 + bits) // max(length, 2)) | (bits - 1) << 32


def arranged(
    axes: list[int],
    shape: tuple[int, ...],
    strides: list[tuple[int, ...]],
    offsets: list[int],
    items: Sequence[int],
    by: Sequence[int],
) -> list[int]:
    """Return axes in the order in which operands ``by`` lie in memory; turn those along which they run backwards.

    An axis that is turned begins at its other end: its strides and the offsets change.
    """
    if not by or 0 in shape:
        return axes
    for axis in axes:
        if sum(strides[k][axis] * items[k] for k in by) < 0:
            for k, own in enumerate(strides):
                offsets[k] += (shape[axis] - 1) * own[axis]
                strides[k] = (*own[:axis], -own[axis], *own[axis + 1 :])
    return sorted(axes, key=lambda axis: -sum(abs(strides[k][axis]) * items[k] for k in by))


def merged(
    axes: Sequence[int], shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Drop axes of length 1, and merge two axes that every operand traverses with one stride."""
    lengths: list[int] = []
    joined: list[tuple[int, ...]] = []  # a stride per operand, for each axis
    for axis in axes:
        length, inner = shape[axis], tuple(own[axis] for own in strides)
        if length == 1:
            continue
        if lengths and all(outer == own * length for outer, own in zip(joined[-1], inner, strict=True)):
            lengths[-1] *= length
            joined[-1] = inner
        else:
            lengths.append(length)
            joined.append(inner)
    return tuple(lengths), tuple(tuple(axis[k] for axis in joined) for k in range(len(strides)))
