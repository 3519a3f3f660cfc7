"""float16 as integers in the same order: all of them."""

from __future__ import annotations

import numpy as np

import gpuprims
from gpuprims.primitives.halves import halves_of, has_others, words_of


def test_words_have_the_order_of_all_float16(rng: np.random.Generator) -> None:
    x = rng.permutation(2**16).astype(np.uint16).view(np.float16)
    words, wide = words_of(x), x.astype(np.float32)
    np.testing.assert_array_equal(words.argsort(kind="stable"), wide.argsort(kind="stable"))
    assert len(np.unique(words[np.isnan(x)])) == 1
    assert (words[x == 0] == 0).all()
    plain = x[~np.isnan(x) & (x.view(np.uint16) != 0x8000)]
    assert not has_others(plain, words_of(plain))
    assert halves_of(words_of(plain)).tobytes() == plain.tobytes()
    for other in (np.nan, -np.nan, -0.0):
        some = np.append(plain, np.float16(other))
        assert has_others(some, words_of(some))


def test_sorts_and_selections_of_float16(
    device: gpuprims.Device, rng: np.random.Generator, either_computes: None
) -> None:
    for n in (300, 20_000):
        x = rng.standard_normal((3, n)).astype(np.float16)
        for given in (x, x[:, ::-2], np.asfortranarray(x), np.where(rng.random(x.shape) < 0.1, np.nan, x)):
            given = given.astype(np.float16)
            wide = given.astype(np.float32)
            for axis in (0, -1):
                ordered, ranks = np.sort(wide, axis), [1, 2] if axis == 0 else [7, n // 3]
                np.testing.assert_array_equal(gpuprims.sort(given, axis=axis, device=device), ordered)
                found = gpuprims.argsort(given, axis=axis, device=device)
                np.testing.assert_array_equal(found, wide.argsort(axis, kind="stable"))
                found = gpuprims.partition(given, ranks, axis=axis, device=device)
                np.testing.assert_array_equal(found.take(ranks, axis), ordered.take(ranks, axis))
                found = gpuprims.median(given, axis=axis, device=device)
                np.testing.assert_allclose(found, np.median(wide, axis), rtol=2e-3)
        found = gpuprims.lexsort((x[0], x[1] > 0), device=device)
        np.testing.assert_array_equal(found, np.lexsort((x[0].astype(np.float32), x[1] > 0)))
        keys, values = gpuprims.sort_by_key(x[0], np.arange(n), device=device)
        order = x[0].astype(np.float32).argsort(kind="stable")
        np.testing.assert_array_equal(keys, x[0][order])
        np.testing.assert_array_equal(values, order)
