"""vector_axis=: a function of pixels, or of any short vectors, along any axis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal, on_device, on_host, random_values

import gpuprims
from gpuprims.errors import ArgumentError, AxisError, ExpressionError, NoVariantError

DTYPES = ("uint8", "int16", "float16", "float32", "int64", "float64", "complex64", "complex128")


def reverse(p: Any) -> Any:
    return p[::-1]


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 5, 8, 16])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_length_and_dtype(map_kernel: Kernel, rng: np.random.Generator, dtype: str, lanes: int) -> None:
    map_kernel.need(dtype)
    for size in (1, 3, map_kernel.variant.block + 1, min(map_kernel.variant.tile, 70_000) * 2 + 3):
        x = random_values(rng, dtype, (size, lanes))
        assert_equal(map_kernel.map(reverse, x, vector_axis=-1), x[:, ::-1])
        resident = map_kernel.map(reverse, on_device(map_kernel.device, x), vector_axis=1)  # aligned, so read whole
        assert_equal(on_host(map_kernel.device, resident), x[:, ::-1])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_every_axis(map_kernel: Kernel, rng: np.random.Generator, axis: int) -> None:
    shape = [11, 13, 17]
    shape[axis] = 4
    x = random_values(rng, np.float32, tuple(shape))
    expected = np.flip(x, axis)
    assert_equal(map_kernel.map(reverse, x, vector_axis=axis), expected)
    assert_equal(map_kernel.map(lambda p: p[0] + p[3], x, vector_axis=axis), x.take(0, axis) + x.take(3, axis))


@pytest.mark.parametrize("view", ["aligned", "odd start", "every second", "reversed", "wide rows", "broadcast"])
def test_every_layout(map_kernel: Kernel, rng: np.random.Generator, view: str) -> None:
    whole = random_values(rng, np.uint8, (50, 60, 8))
    x = {
        "aligned": whole[..., :4],
        "odd start": whole.reshape(-1)[3:-5].reshape(-1, 4),
        "every second": whole[..., ::2],
        "reversed": whole[..., 3::-1],
        "wide rows": whole[::2, 1:, 4:],
        "broadcast": np.broadcast_to(whole[0, 0, :4], (9, 9, 4)),
    }[view]
    assert_equal(map_kernel.map(reverse, x, vector_axis=-1), x[..., ::-1])


def test_several_vectors_and_scalars(map_kernel: Kernel, rng: np.random.Generator) -> None:
    image, colour = random_values(rng, np.float32, (31, 33, 3)), random_values(rng, np.float32, (3,))
    weight = np.float32(0.25)

    def blend(p: Any, q: Any, w: Any) -> Any:
        return tuple(a * (1 - w) + b * w for a, b in zip(p, q, strict=True))

    expected = image * (1 - weight) + colour * weight
    got = map_kernel.map(blend, image, colour, weight, vector_axis=-1)
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)
    assert got.dtype == np.float32


def test_components_of_one_result_share_a_dtype(map_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.uint8, (20, 4))
    got = map_kernel.map(lambda p: (p[0] > 3, p[1], p[2].astype(np.int32)), x, vector_axis=-1)
    assert_equal(got, np.stack([x[:, 0] > 3, x[:, 1], x[:, 2].astype(np.int32)], axis=-1))


def test_results_of_another_length_and_out(map_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (37, 4))
    whole = np.zeros((37, 5), np.float32)
    out = whole[:, 1:3]
    assert map_kernel.map(lambda p: (p[0] - p[1], p[2] + p[3]), x, vector_axis=-1, out=out) is out
    assert_equal(out, np.stack([x[:, 0] - x[:, 1], x[:, 2] + x[:, 3]], axis=-1))
    assert not whole[:, [0, 3, 4]].any()


def test_strings_name_components_by_number_or_letter(map_kernel: Kernel, rng: np.random.Generator) -> None:
    x, q, s = random_values(rng, np.float32, (57, 4)), random_values(rng, np.float32, (4,)), np.float32(0.5)
    assert_equal(map_kernel.map("p[3], p[-2], p.y, p.x", x, vector_axis=-1), x[:, ::-1])
    given = map_kernel.map("w*p.x + sqrt(abs(q[1])) - p[3]", s, x, q, vector_axis=-1)
    assert_equal(given, s * x[:, 0] + np.sqrt(np.abs(q[1])) - x[:, 3])
    assert_equal(map_kernel.map("x.x + x.w", x, vector_axis=1), x[:, 0] + x[:, 3])


def test_a_number_has_no_components() -> None:
    with pytest.raises(ExpressionError, match=r"w as it is, which has no components; got w\[0\] in"):
        gpuprims.map("p[0] * w[0]", np.zeros((5, 4)), 2.0, vector_axis=1, device="reference")


def test_a_photograph_in_grey_without_double_precision(
    monkeypatch: pytest.MonkeyPatch, device: gpuprims.Device, rng: np.random.Generator
) -> None:
    if device.backend == "reference":
        pytest.skip("NumPy computes in float64 on any machine")
    monkeypatch.setattr(
        gpuprims.Device, "capabilities", property(lambda self: replace(self.driver.capabilities, fp64=False))
    )
    photo = rng.integers(0, 256, (21, 30, 4), np.uint8)
    grey = "float32(.299)*p.x + float32(.587)*p.y + float32(.114)*p.z"
    weights = np.float32([0.299, 0.587, 0.114])
    expected = weights[0] * photo[..., 0] + weights[1] * photo[..., 1] + weights[2] * photo[..., 2]
    assert_equal(gpuprims.map(grey, photo, vector_axis=-1, device=device), expected)
    with pytest.raises(NoVariantError, match=r"needs float64.*float32\(x\) in a string"):
        gpuprims.map(".299 * p.x", photo, vector_axis=-1, device=device)


WRONG: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "no such axis": (reverse, {"vector_axis": 2}, AxisError, r"vector_axis from -2 to 1 for shape \(5, 4\); got 2"),
    "no integer": (reverse, {"vector_axis": 0.5}, AxisError, "got 0.5"),
    "a bool": (reverse, {"vector_axis": True}, AxisError, "got True"),
    "a whole vector": ("p + 1", {"vector_axis": 1}, ExpressionError, r"components p\[0\] to p\[3\]; got p in 'p \+ 1'"),
    "no such component": ("p[4]", {"vector_axis": 1}, ExpressionError, r"p\[0\] to p\[3\]; got p\[4\]"),
    "no such letter": ("p.r", {"vector_axis": 1}, ExpressionError, r"p\[0\] to p\[3\]; got p\.r"),
    "a slice": ("p[1:]", {"vector_axis": 1}, ExpressionError, r"p\[0\] to p\[3\]; got p\[1:\]"),
    "two names": ("p[0] + q[0]", {"vector_axis": 1}, ExpressionError, "a name for each of 1 arrays; got 2 in"),
    "C's float": (".299f * p.x", {"vector_axis": 1}, ExpressionError, r"write float32\(\.299\) for \.299f"),
    "a keyword": (reverse, {"vector_axis": 1, "p": np.zeros(4)}, ArgumentError, "positional arrays with vector_axis"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused(case: str) -> None:
    function, keywords, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        gpuprims.map(function, np.zeros((5, 4)), device="reference", **keywords)


def test_long_axes_are_refused() -> None:
    with pytest.raises(ArgumentError, match="from 1 to 16 elements along vector_axis; got 17"):
        gpuprims.map(reverse, np.zeros((3, 17)), vector_axis=1, device="reference")
