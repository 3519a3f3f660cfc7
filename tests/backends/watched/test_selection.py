"""top_k and selections under Oclgrind and compute-sanitizer."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal, random_values
from selection_cases import top_k_numpy
from watched_kernels import each, of

import gpuprims
from gpuprims.primitives.top_k import launches, sampled
from gpuprims.primitives.top_k.sampled import Sampling

pytestmark = pytest.mark.oclgrind

TOP_K = of("top_k")


@each(TOP_K)
def test_the_largest_elements(kernel: Kernel, rng: np.random.Generator) -> None:
    how = {"device": kernel.device, "variant": kernel.variant.name}
    many = {"rows": (1203, 64), "sampled": (1203, 64), "lanes": (11, 9)}.get(kernel.variant.name, (1203, 700))
    for size, k in ((1, 1), many):
        x = random_values(rng, np.float32, size)
        for got, expected in zip(gpuprims.top_k(x, k, **how), top_k_numpy(x, k), strict=True):
            assert_equal(got, expected)
    rows = 2 if kernel.variant.name == "sampled" else 20  # its groups work for long
    plane = random_values(rng, np.int16, (rows, 35))
    got = gpuprims.top_k(plane.T, 9, axis=0, largest=False, **how)
    assert_equal(got[1], top_k_numpy(plane.T, 9, 0, largest=False)[1])
    if kernel.variant.name in ("sampled", "lanes"):  # they take no segments
        return
    values, _ = gpuprims.top_k(plane.reshape(-1), 2, segments=[0, 2, 300, 700], **how)
    assert_equal(values[1], top_k_numpy(plane.reshape(-1)[2:300], 2)[0])


@each([variant for variant in TOP_K if variant.name == "radix"])
def test_a_sample_and_candidates(kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "_LEAST_SAMPLED", 1000)
    monkeypatch.setattr(launches, "_SAMPLED", 16)
    for x in (random_values(rng, np.float32, 2003), np.zeros(2003, np.float32)):
        got = gpuprims.top_k(x, 5, device=kernel.device, variant=kernel.variant.name)
        assert_equal(got[1], top_k_numpy(x, 5)[1])


@each([variant for variant in TOP_K if variant.name == "sampled"])
def test_a_sample_by_several_groups_and_a_retry(
    kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampled, "_ALONE_PER_UNIT", 0)
    monkeypatch.setattr(sampled, "_SAMPLING", 2)
    x, of = random_values(rng, np.float32, 2003), Sampling.of
    for part, most in ((x, None), (x[1:], 3)):
        if most is not None:
            monkeypatch.setattr(sampled.Sampling, "of", staticmethod(lambda n, k: of(n, k)._replace(room=3)))
        got = gpuprims.top_k(part, 20, device=kernel.device, variant=kernel.variant.name)
        assert_equal(got[1], top_k_numpy(part, 20)[1])


@each(of("selection"))
def test_medians(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (7, 300) if kernel.variant.name == "lanes" else (1203, 3))
    assert_equal(gpuprims.median(x, 0, device=kernel.device, variant=kernel.variant.name), np.median(x, 0))
