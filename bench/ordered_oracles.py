"""The oracles of works that order elements.

A sort of 2^28 elements by NumPy takes longer than all measurements. Results are checked whole all the same: they must
ascend, and hold what was given, which two sums of scrambled bits tell.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import gpuprims

from .elements import in_threads

_ODD = np.uint64(0x9E3779B97F4A7C15)


def _scrambled(x: np.ndarray) -> tuple[int, int]:
    bits = x.reshape(-1).view(f"u{x.itemsize}").astype(np.uint64)
    one = (bits + np.uint64(1)) * _ODD
    other = (one ^ (one >> np.uint64(29))) * _ODD
    return int(one.sum()), int((other ^ (other >> np.uint64(32))).sum())


def keys_of(x: np.ndarray, *_: np.ndarray) -> tuple[int, np.dtype[Any], list[int]]:
    """Return the number, the dtype, and sums of the elements in any order."""
    sums = in_threads(_scrambled, x)
    return x.size, x.dtype, [sum(one[k] for one in sums) % 2**64 for k in (0, 1)]


def _ascends(x: np.ndarray) -> bool:
    return all(in_threads(lambda a, b: bool(np.all(a <= b)), x[:-1], x[1:]))


def sorted_keys(result: Any, expected: Any) -> None:
    result = np.asarray(result)
    assert _ascends(result), "a sort: elements that ascend; got some that do not"
    assert keys_of(result) == expected, "a sort: the elements that were given; got others"


def given(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return arrays


def argsort(x: np.ndarray) -> np.ndarray:
    return np.argsort(x, kind="stable")


def order(result: Any, expected: tuple[np.ndarray, ...]) -> None:
    """Check that indices are a permutation, that elements ascend by them, and that equal ones keep their order."""
    places, x = np.asarray(result), expected[0]
    inside = all(in_threads(lambda piece: bool(np.all((piece >= 0) & (piece < x.size))), places))
    assert inside, f"indices from 0 to {x.size - 1}"
    assert keys_of(places) == keys_of(np.arange(x.size, dtype=places.dtype)), "each index once"
    keys = np.concatenate(in_threads(lambda piece: x[piece], places))

    def stable(a: np.ndarray, b: np.ndarray, i: np.ndarray, j: np.ndarray) -> bool:
        return bool(np.all((a < b) | ((a == b) & (i < j))))

    assert all(in_threads(stable, keys[:-1], keys[1:], places[:-1], places[1:])), "a stable order"


def pairs(keys: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    places = np.argsort(keys, kind="stable")
    return keys[places], numbers[places]


def ordered_pairs(result: Any, expected: tuple[np.ndarray, ...]) -> None:
    """Check keys, and values that are the keys' numbers."""
    keys, numbers = (np.asarray(one) for one in result)
    order(numbers, expected)
    np.testing.assert_array_equal(keys, expected[0][numbers])


def sort_in(x: Any, offsets: Any, **where: Any) -> Any:
    return gpuprims.sort(x, segments=offsets, **where)


def by_100(x: np.ndarray, _: np.ndarray) -> np.ndarray:
    whole = x.size // 100 * 100
    rows = np.sort(x[:whole].reshape(-1, 100), axis=1).reshape(-1)
    return np.concatenate([rows, np.sort(x[whole:])])


def top_k(k: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    places = np.argpartition(x, x.shape[-1] - k, axis=-1)[..., -k:]
    values = np.take_along_axis(x, places, -1)
    best = np.argsort(values, axis=-1)[..., ::-1]
    return np.take_along_axis(values, best, -1), np.take_along_axis(places, best, -1)


def largest(k: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the array, and the k largest elements of each row."""
    if x.ndim == 2:
        return x, np.concatenate(in_threads(lambda piece: np.sort(piece, axis=1)[:, : -k - 1 : -1], x))
    kept = in_threads(lambda piece: np.partition(piece, -k)[-k:] if piece.size > k else piece, x)
    return x, np.sort(np.concatenate(kept))[: -k - 1 : -1]


def top(result: Any, expected: tuple[np.ndarray, np.ndarray]) -> None:
    """Compare values, and the elements at their places."""
    (values, places), (x, best) = (np.asarray(one) for one in result), expected
    np.testing.assert_array_equal(values, best)
    assert bool(np.all((places >= 0) & (places < x.shape[-1]))), "places of elements"
    np.testing.assert_array_equal(np.take_along_axis(x, places, -1), best)


def distinct(x: np.ndarray) -> np.ndarray:
    pieces = in_threads(lambda piece: np.unique(piece, return_counts=True)[0], x)
    return np.unique(np.concatenate(pieces))


def same(result: Any, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(result, expected)


def reduce_by_key(x: Any, keys: Any, **where: Any) -> Any:
    return gpuprims.reduce(x, by=keys, **where)


def sums_by_key(x: np.ndarray, keys: np.ndarray) -> np.ndarray:
    sums = np.bincount(keys, weights=x)
    return sums[np.bincount(keys) > 0]


def near_sums(result: Any, expected: np.ndarray) -> None:
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-4)
