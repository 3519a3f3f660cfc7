"""top_k/sampled: samples that mislead, and how many elements a sample keeps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal
from selection_cases import top_k_numpy

import gpuprims
from gpuprims.primitives.top_k import sampled
from gpuprims.primitives.top_k.sampled import Sampling

MISLED: dict[str, Callable[[Sampling], Sampling]] = {
    "no room": lambda sampling: sampling._replace(room=3),
    "too few": lambda sampling: sampling._replace(rank=1),
    "one piece": lambda sampling: sampling._replace(pieces=1, rank=1),
    "more than are sampled": lambda sampling: sampling._replace(rank=10**6),
}


def _of(kernel: Kernel) -> None:
    if kernel.variant.name != "sampled":
        pytest.skip("other kernels take other samples, or none")


@pytest.mark.optimised
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("why", MISLED)
def test_samples_that_mislead(
    top_k_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, why: str, together: bool
) -> None:
    _of(top_k_kernel)
    of = Sampling.of
    monkeypatch.setattr(sampled.Sampling, "of", staticmethod(lambda n, k: MISLED[why](of(n, k))))
    if together:  # groups take the sample in a launch of their own
        monkeypatch.setattr(sampled, "_ALONE_PER_UNIT", 0)
    n = 40_001 + 2 * list(MISLED).index(why) + together  # no plan of another test is of this size
    x = rng.integers(0, 5000, (2, n)).astype(np.float32)
    for largest in (True, False):
        got = gpuprims.top_k(x, 300, axis=1, largest=largest, device=top_k_kernel.device, variant="sampled")
        for one, expected in zip(got, top_k_numpy(x, 300, 1, largest=largest), strict=True):
            assert_equal(one, expected)


@pytest.mark.optimised
def test_a_sample_of_several_groups(
    top_k_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    _of(top_k_kernel)
    monkeypatch.setattr(sampled, "_ALONE_PER_UNIT", 0)
    for x in (rng.random(300_011, dtype=np.float32), np.arange(300_013, dtype=np.float32)):
        for k in (1, 1000):
            got = gpuprims.top_k(x, k, device=top_k_kernel.device, variant="sampled")
            for one, expected in zip(got, top_k_numpy(x, k), strict=True):
                assert_equal(one, expected)


def test_long_rows_go_to_this_kernel(device: gpuprims.Device) -> None:
    if device.backend == "reference" or device.capabilities.kind == "cpu":
        pytest.skip("CPUs have a kernel of their own")
    for k, name in ((1024, "sampled"), (1025, "radix")):
        assert gpuprims.plan("top_k", np.zeros(1 << 18, np.float32), k, device=device).variant.name == name


def test_samples_keep_enough_and_not_too_many() -> None:
    for n in (1, 3, 4, 1000, 1 << 16, 1 << 20, 1 << 28, (1 << 32) - 1):
        for k in (1, 10, 1000, 1024):
            if k > n:
                continue
            sampling = Sampling.of(n, k)
            size = 4 * sampling.pieces
            assert size <= n
            assert sampling.rank > k * size / n
            assert sampling.room <= n
            if n >= 1 << 16:
                assert sampling.rank <= 64
                assert sampling.room * size / n >= 2 * sampling.rank - 1 or sampling.room == n
