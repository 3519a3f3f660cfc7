"""complex64 and complex128: every function they have, on every device, held against NumPy.

An error is measured against the length of the whole number, since that is how far the parts of a product of rounded
numbers may be off; where a part is infinite or NaN, so is NumPy's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_cases import COMPLEX, DTYPES, Kernel, assert_equal, need, on_device, on_host, random_values

import gpuprims
from gpuprims.core.codegen import kernel_source
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.kernel_spec import Access, KernelSpec
from gpuprims.core.refusals import double_precision
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.errors import DtypeError
from gpuprims.expressions import expression, trace, typed
from gpuprims.expressions.functions import COMPLEX as NAMES
from gpuprims.expressions.functions import FUNCTIONS

# Machine epsilons that a result may be away from NumPy's, in units of its length: a few roundings, or as many functions
# of a few units each as the formulas have.
ROUNDED, APPROXIMATED = 8, 32
EXACT = {
    "negative", "positive", "conjugate", "rint", "maximum", "minimum", "fmax", "fmin", "add", "subtract", "real",
    "imag",
}  # fmt: skip
ARITHMETIC = {"multiply", "divide", "square", "reciprocal", "power"}
ORDINARY = [0.0, -0.0, 0.1, 1.0, -1.5, 2.5, 7.0, np.inf, -np.inf, np.nan]
# Where functions overflow and sums of squares do; a product that a GPU fuses overflows elsewhere than NumPy's.
FAR = [90.0, -90.0, 800.0, -800.0, 1e30]


def hard_values(dtype: Any, *, far: bool) -> np.ndarray:
    largest = 0.999 * float(np.finfo(dtype).max)  # the largest itself has a hypot of infinity on CUDA, by a last bit
    parts = [*ORDINARY, *FAR, largest, -largest, largest / 1.5] if far else ORDINARY
    return np.array([complex(re, im) for re in parts for im in parts], dtype)


def operands(name: str, dtype: Any, rng: np.random.Generator) -> list[np.ndarray]:
    """Every hard value, with every other where there are two, and random ones."""
    values, arity = hard_values(dtype, far=name not in ARITHMETIC), FUNCTIONS[name].arity
    random = [random_values(rng, dtype, 500) for _ in range(arity)]
    pairs = [values] if arity == 1 else [np.repeat(values, values.size), np.tile(values, values.size)]
    if name == "power":  # at infinities C99 leaves it undefined
        finite = np.isfinite(pairs[0]) & np.isfinite(pairs[1])
        pairs = [pair[finite] for pair in pairs]
    return [np.concatenate(both) for both in zip(pairs, random, strict=True)]


def room(name: str, values: Sequence[np.ndarray], expected: np.ndarray) -> np.ndarray:
    """How far each result may be from NumPy's."""
    info = np.finfo(expected.dtype)
    units = np.full(expected.shape, 0 if name in EXACT else ROUNDED if name in ARITHMETIC else APPROXIMATED, float)
    if name == "power":  # the logarithm's error grows with the exponent
        units *= 1 + np.abs(values[1] * np.log(np.where(values[0] == 0, 1, values[0])))
    wide = expected.astype(np.clongdouble)
    lengths = np.hypot(*(np.where(np.isfinite(part), part, 0) for part in (wide.real, wide.imag)))
    # OpenCL lets a device take float32 below the smallest normal number for zero.
    return units * float(info.eps) * lengths + (float(info.tiny) if info.bits == 32 else 0)


def mistakes(name: str, got: np.ndarray, expected: np.ndarray, values: Sequence[np.ndarray]) -> list[str]:
    """The first few elements with a part that is not NumPy's within the function's bound."""
    assert got.dtype == expected.dtype, f"{name}: dtype {got.dtype} instead of {expected.dtype}"
    wrong = np.zeros(got.shape, bool)
    if expected.dtype.kind == "b":
        wrong = got != expected
    else:
        allowed = room(name, values, expected)
        for part, wanted in ((got.real, expected.real), (got.imag, expected.imag)):
            near = np.abs(part.astype(np.longdouble) - wanted) <= allowed
            same = (part == wanted) | (np.isnan(part) & np.isnan(wanted))
            wrong |= ~(same | (near & np.isfinite(part) & np.isfinite(wanted)))
    shown = [", ".join(str(v[k]) for v in values) for k in np.flatnonzero(wrong)[:4]]
    return [f"{name}({s}) = {got[k]}, not {expected[k]}" for s, k in zip(shown, np.flatnonzero(wrong), strict=False)]


PER_KERNEL = 8


def batches() -> list[list[str]]:
    """Every function, those of like operands together."""
    found = [["power"]]
    for arity, arithmetic in product((1, 2), (False, True)):
        able = [name for name in (*NAMES, "real", "imag", "angle") if FUNCTIONS[name].arity == arity]
        like = [name for name in able if (name in ARITHMETIC) is arithmetic and name != "power"]
        found += [like[start : start + PER_KERNEL] for start in range(0, len(like), PER_KERNEL)]
    return found


@pytest.mark.parametrize("names", batches(), ids=lambda names: f"{names[0]} and others")
@pytest.mark.parametrize("dtype", COMPLEX)
def test_functions_compute_what_numpy_computes(
    device: gpuprims.Device, dtype: str, names: list[str], rng: np.random.Generator
) -> None:
    need(device, dtype)
    values = operands(names[0], dtype, rng)
    functions = [FUNCTIONS[name].numpy for name in names]
    results = gpuprims.map(lambda *x: tuple(f(*x) for f in functions), *values, device=device)
    with np.errstate(all="ignore"):
        found = [mistakes(n, got, FUNCTIONS[n].numpy(*values), values) for n, got in zip(names, results, strict=True)]
    assert [text for texts in found for text in texts] == []


@pytest.mark.parametrize("dtype", COMPLEX)
def test_logarithms_keep_their_digits_near_the_axes_at_length_1(device: gpuprims.Device, dtype: str) -> None:
    need(device, dtype)
    # The length of each rounds to 1 or a unit beside it, whose logarithm has no digit right.
    large, small = np.finfo(dtype).eps * np.array([0, 1, 2, 5])[:, None] + 1, np.array([1e-3, 1e-2, 0.02])
    x = np.concatenate([(large + 1j * small).ravel(), (small - 1j * large).ravel()]).astype(dtype)
    re, im = (np.sort(np.abs([x.real, x.imag]).astype(np.longdouble), axis=0)[k] for k in (1, 0))
    expected = np.log1p((re - 1) * (re + 1) + im * im) / 2
    np.testing.assert_allclose(
        gpuprims.map("log(x)", x, device=device).real, expected, rtol=8 * float(np.finfo(dtype).eps)
    )


@pytest.mark.parametrize("dtype", COMPLEX)
def test_inverse_functions_keep_their_digits_near_branch_points(device: gpuprims.Device, dtype: str) -> None:
    need(device, dtype)
    eps = float(np.finfo(dtype).eps)
    parts = np.array([0, 1 - eps, 1, 1 + eps, 1 + 9 * eps, 0.5, 1.5, eps, eps**2, 1e-3, 1 / eps, 3 / eps])
    parts = np.concatenate([parts, -parts])
    x = (parts[:, None] + 1j * parts).astype(dtype).ravel()
    names = ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")
    results = gpuprims.map(lambda z: tuple(FUNCTIONS[name].numpy(z) for name in names), x, device=device)
    for name, got in zip(names, results, strict=True):
        with np.errstate(all="ignore"):
            expected = FUNCTIONS[name].numpy(x.astype(np.clongdouble))
        for part, wanted in ((got.real, expected.real), (got.imag, expected.imag)):
            np.testing.assert_allclose(part, wanted, rtol=16 * eps, atol=eps**2, err_msg=name)
            np.testing.assert_array_equal(np.signbit(part), np.signbit(wanted), err_msg=name)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_where_chooses_whole_numbers(device: gpuprims.Device, dtype: str, rng: np.random.Generator) -> None:
    need(device, dtype)
    x, y = random_values(rng, dtype, (2, 100))
    assert_equal(gpuprims.map("where(real(x) < 0, x, conj(y))", x, y, device=device), np.where(x.real < 0, x, y.conj()))
    single = x.astype(np.complex64)
    assert_equal(gpuprims.map(lambda x: np.where(x, x, 2j), single * 0, device=device), np.full(100, np.complex64(2j)))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_every_variant_maps_every_size_and_alignment(map_kernel: Kernel, dtype: str, rng: np.random.Generator) -> None:
    map_kernel.need(dtype)
    device = map_kernel.device
    for size in map_kernel.boundary_sizes[-6:]:
        x, y = random_values(rng, dtype, (2, size + 1))
        expected = x + 2j * y.conj()
        for start in (0, 1):
            arrays = [on_device(device, array)[start:] for array in (x, y)]
            got = on_host(device, map_kernel.map("x + 2j*conj(y)", *arrays))
            np.testing.assert_allclose(got, expected[start:], rtol=8 * float(np.finfo(dtype).eps))
            assert got.dtype == np.dtype(dtype)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_arrays_may_lie_anyhow(map_kernel: Kernel, dtype: str, rng: np.random.Generator) -> None:
    map_kernel.need(dtype)
    x = random_values(rng, dtype, (40, 36))
    half = np.dtype(dtype).itemsize // 2
    shifted = np.frombuffer(b"\0" * half + x.tobytes(), dtype, offset=half).reshape(x.shape)
    for array in (x.T, x[::2, ::-3], x[:, 5], shifted, x.astype(np.dtype(dtype).newbyteorder(">")), x[:, 1::2]):
        assert_equal(map_kernel.map("conj(x)", array), array.conj().astype(dtype))


@pytest.mark.parametrize("other", DTYPES)
@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers_meet_every_other_dtype(
    device: gpuprims.Device, dtype: str, other: str, rng: np.random.Generator
) -> None:
    z, x = random_values(rng, dtype, (7, 1)), np.arange(5).astype(other)
    need(device, np.result_type(z, x))
    expected = z * x + 1
    got = gpuprims.map("z*x + 1", z, x, device=device)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    assert_equal(gpuprims.map("z == x", z, x, device=device), z == x)


def test_python_constants_keep_the_precision_of_their_company(device: gpuprims.Device) -> None:
    x = np.linspace(-1, 1, 9, dtype=np.float32)
    assert_equal(gpuprims.map("x + 1j", x, device=device), x + 1j)
    assert_equal(gpuprims.map(lambda x: x - np.complex64(1 - 2j), x, device=device), x - np.complex64(1 - 2j))
    assert_equal(gpuprims.map(lambda x: x.real + x.imag + 2j, x, device=device), x + 2j)
    constant = np.complex64(complex(-np.inf, np.nan))
    got = gpuprims.map(lambda x: np.where(x > 0, constant, np.complex64(complex(-0.0, -0.0))), x, device=device)
    assert_equal(got, np.where(x > 0, constant, np.complex64(0)))
    assert np.signbit(got[0].real)
    assert np.signbit(got[0].imag)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_conversions(device: gpuprims.Device, dtype: str) -> None:
    need(device, dtype)
    for source in DTYPES:
        if source != "float64" or device.capabilities.fp64:
            x = np.array([0, 1, 0, 7]).astype(source)
            assert_equal(gpuprims.map(f"{dtype}(x)", x, device=device), x.astype(dtype))
    z = np.array([0, 1, 1j, -0.0, complex(0, np.nan), complex(np.inf, 0)], dtype)
    assert_equal(gpuprims.map("bool(z)", z, device=device), z.astype(bool))
    for target in COMPLEX:
        if target == "complex64" or device.capabilities.fp64:
            assert_equal(gpuprims.map(lambda z, target=target: z.astype(target), z, device=device), z.astype(target))


@pytest.mark.parametrize("target", [name for name in DTYPES if name != "bool"])
def test_a_conversion_that_loses_the_imaginary_part_is_refused(target: str) -> None:
    message = rf"conversion of a complex number: a complex dtype, or real\(x\).*; got complex64 to {target}"
    with pytest.raises(DtypeError, match=message):
        gpuprims.map(lambda x: x.astype(target), np.ones(3, np.complex64), device="reference")


@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_of_real_numbers(device: gpuprims.Device, dtype: str, rng: np.random.Generator) -> None:
    need(device, dtype)
    x = random_values(rng, dtype, 50)
    real, imaginary, conjugate = gpuprims.map("real(x), imag(x), conj(x)", x, device=device)
    assert_equal(real, x)
    assert_equal(imaginary, np.zeros_like(x))
    assert_equal(conjugate, np.conj(x))
    need(device, np.angle(x).dtype)
    angle = gpuprims.map("angle(x)", x, device=device)
    assert angle.dtype == np.angle(x).dtype
    np.testing.assert_allclose(angle, np.angle(x), rtol=1e-3 if angle.dtype == np.float16 else 1e-6)


def test_a_single_number_comes_back_as_a_scalar(device: gpuprims.Device) -> None:
    got = gpuprims.map("x * 1j", np.complex64(1 + 2j), device=device)
    assert isinstance(got, np.complex64)
    assert got == -2 + 1j


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), -1])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_sums_and_products(reduce_kernel: Kernel, dtype: str, axis: Any, rng: np.random.Generator) -> None:
    reduce_kernel.need(dtype)
    x = random_values(rng, dtype, (13, 17, 40))
    turned = np.exp(1j * x.real).astype(dtype)  # of length 1, so that no product overflows
    many: Any = {"rtol": 200 * np.finfo(dtype).eps, "atol": 2000 * np.finfo(dtype).eps}
    np.testing.assert_allclose(reduce_kernel.reduce(x, axis=axis), x.sum(axis), **many)
    np.testing.assert_allclose(reduce_kernel.reduce(turned, op="prod", axis=axis), turned.prod(axis), **many)
    mean = reduce_kernel.reduce(x, op="mean", axis=axis)
    assert mean.dtype == dtype
    np.testing.assert_allclose(mean, x.mean(axis), **many)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_reductions_by_several_groups(reduce_kernel: Kernel, dtype: str, rng: np.random.Generator) -> None:
    reduce_kernel.need(dtype)
    x = random_values(rng, dtype, min(reduce_kernel.striding_size, 300_000))
    got = reduce_kernel.reduce(x)
    assert got.dtype == x.dtype
    assert abs(got - x.sum(dtype=complex)) <= 100 * np.finfo(dtype).eps * np.sqrt(x.size)
    assert reduce_kernel.reduce(x * 0, op="any") == np.False_
    assert reduce_kernel.reduce(x, op="all")
    x[1234] = 0
    assert reduce_kernel.reduce(x, op="count_nonzero") == x.size - 1
    assert not reduce_kernel.reduce(x, op="all")
    x[:] = 0
    x[-1] = 1j
    assert reduce_kernel.reduce(x, op="any")


def test_columns_are_summed_by_a_work_item_each(device: gpuprims.Device, rng: np.random.Generator) -> None:
    if device.backend == "reference":
        pytest.skip("the reference has one way to reduce")
    x = random_values(rng, np.complex64, (300, 66))
    for array in (x, x[:, 1:]):
        got = gpuprims.reduce(
            on_device(device, x)[:, x.shape[1] - array.shape[1] :], axis=0, device=device, variant="each"
        )
        np.testing.assert_allclose(on_host(device, got), array.sum(0), rtol=1e-4, atol=1e-4)


def test_an_operator_of_complex_and_real_components(device: gpuprims.Device, rng: np.random.Generator) -> None:
    turns = np.exp(1j * rng.standard_normal(5000)).astype(np.complex64)
    steps = rng.standard_normal(5000).astype(np.float32) + 1j * np.float32(0.5)
    motion = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1], p[2] + q[2]), identity=(1, 0, 0))
    turned, moved, length = gpuprims.reduce(
        turns, steps.astype(np.complex64), map=lambda a, b: (a, b, abs(b)), op=motion, device=device
    )
    place = complex(0)
    for a, b in zip(turns.astype(complex), steps, strict=True):
        place = place * a + b
    assert (turned.dtype, moved.dtype, length.dtype) == (np.complex64, np.complex64, np.float32)
    assert abs(moved - place) < 1e-2
    assert abs(turned - turns.astype(complex).prod()) < 1e-2
    np.testing.assert_allclose(length, np.abs(steps).sum(), rtol=1e-4)


@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax"])
def test_numbers_are_ordered_by_real_part_and_then_by_imaginary(device: gpuprims.Device, op: Any) -> None:
    real, imaginary = np.meshgrid(np.array([3, -1, 3, 0], np.float32), np.array([2, -7, 100, 2, 0], np.float32))
    x = (real + 1j * imaginary).astype(np.complex64)
    for array in (x, x * 1j, np.where(real == 0, np.complex64(np.nan), x)):
        for axis in (None, 0, 1):
            assert_equal(gpuprims.reduce(array, op=op, axis=axis, device=device), getattr(np, op)(array, axis=axis))


def test_numbers_are_summed_as_complex_when_asked(device: gpuprims.Device) -> None:
    got = gpuprims.reduce(np.arange(10, dtype=np.int16), dtype=np.complex64, device=device)
    assert_equal(got, np.complex64(45))


def test_a_device_without_double_precision_refuses_complex128_alone(device: gpuprims.Device) -> None:
    single = replace(device.capabilities, fp64=False)
    said = double_precision(single, CallTraits((np.dtype("complex128"),), 1))
    advice = "convert to complex64: x.astype(np.complex64), or complex64(x) in a string"
    assert said == f"needs complex128, which {single.name} does not compute in ({advice})"
    assert double_precision(single, CallTraits((np.dtype("complex64"),), 1)) is None
    assert double_precision(replace(single, fp64=True), CallTraits((np.dtype("complex128"),), 1)) is None


def _spec(dtype: str) -> KernelSpec:
    given = np.dtype(dtype)
    body = expression("exp(x)**1.5 * (2 + 1j) / sqrt(tan(x)) + 0.1 - log10(x) * sinh(x)")
    function = typed(trace(lambda x, j: body(x), 2), [given, np.dtype("int64")])
    finish = typed(trace(lambda value, count: value), [given, np.dtype("int64")])
    place = Access(given, (), (1,))
    return KernelSpec((place,), (place,), (given,), function, finish, vector=16 // given.itemsize)


def _text(spec: KernelSpec, folder: Path) -> str:
    """Return the text that is written around an empty kernel."""
    empty = folder / "empty"
    empty.write_text("")
    return kernel_source(spec, Variant("map", "empty", "opencl", empty, 1, Geometry(256, 4), first_refusal()), empty, 0)


def test_complex64_needs_no_double_precision(tmp_path: Path) -> None:
    text = _text(_spec("complex64"), tmp_path)
    assert "HAS_F64 1" not in text
    assert "c64" in text
    assert "c128" not in text
    assert "f64" not in re.sub(r"#ifdef HAS_F64\n.*?#endif", "", text, flags=re.DOTALL)
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    assert re.findall(r"(?<![\w.])\d+\.\d*(?:e[+-]?\d+)?(?![\d.f])", code) == []
    assert "HAS_F64 1" in _text(_spec("complex128"), tmp_path)


def test_kernels_of_real_numbers_compile_no_complex_ones(tmp_path: Path) -> None:
    real = typed(trace(lambda x, j: x, 2), [np.dtype("float32"), np.dtype("int64")])
    place = Access(np.dtype("float32"), (), (1,))
    assert "COMPLEX" not in _text(KernelSpec((place,), (place,), (np.dtype("float32"),), real, real), tmp_path)
