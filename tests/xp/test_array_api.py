"""gpuprims.xp: names, signatures, dtypes and values of the array API, against its strict implementation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_cases import need, on_device

import gpuprims
from gpuprims import xp
from gpuprims.errors import ArgumentError, AxisError, ShapeError

strict = pytest.importorskip("array_api_strict")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "array-api.md"
NAMES = [name for name in strict.__all__ if name.islower() and not name.startswith("_") and "strict" not in name]
DTYPES = {name for name in NAMES if re.fullmatch(r"(u?int|float|complex)\d+|bool", name)}
FUNCTIONS = sorted(set(NAMES) - DTYPES - {"e", "inf", "nan", "pi", "newaxis"})
REFUSED = {name for names in xp.REFUSED.values() for name in names.split()}
REAL = ["int8", "uint16", "int64", "float32"]
UNARY = [name for name in xp.__all__ if len(inspect.signature(getattr(xp, name)).parameters) == 1]
BINARY = [name for name in xp.__all__ if list(inspect.signature(getattr(xp, name)).parameters) == ["x1", "x2"]]


def _holds(got: Any, expected: Any, *, exact: bool = True) -> None:
    if isinstance(expected, tuple):
        for one, other in zip(got, expected, strict=True):
            _holds(one, other, exact=exact)
        return
    wanted = np.from_dlpack(expected)
    assert np.asarray(got).dtype == wanted.dtype
    assert np.shape(got) == wanted.shape
    if exact or wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(got, wanted)
    else:
        np.testing.assert_allclose(got, wanted, rtol=1e-5 if wanted.dtype == np.float32 else 1e-12, atol=1e-6)


def _values(rng: np.random.Generator, dtype: str, shape: Any = (7, 30)) -> Any:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind == "f":
        values = rng.standard_normal(shape).astype(dtype)
        values[rng.random(shape) < 0.1] = 0
        return values
    return rng.integers(0 if kind == "u" else -20, 20, shape).astype(dtype)


def test_every_name_is_done_or_refused() -> None:
    assert sorted({*xp.__all__, *REFUSED}) == FUNCTIONS
    assert not REFUSED & set(xp.__all__)
    for name in REFUSED:
        with pytest.raises(AttributeError, match=rf"module 'gpuprims.xp' has no attribute '{name}' \(\w+"):
            getattr(xp, name)


def test_the_page_lists_every_name() -> None:
    listed = re.findall(r"`(\w+)`", PAGE.read_text().partition("| names |")[2])
    assert sorted(listed) == FUNCTIONS


@pytest.mark.parametrize("name", xp.__all__)
def test_signatures(name: str) -> None:
    ours, theirs = (list(inspect.signature(getattr(module, name)).parameters.values()) for module in (xp, strict))
    if name in UNARY or name in BINARY:  # names of positional arguments are nobody's concern
        assert [one.kind for one in ours] == [one.kind for one in theirs]
        return
    assert [(one.name, one.kind) for one in ours] == [(one.name, one.kind) for one in theirs]
    keywords = [one.name for one in ours if one.kind is one.KEYWORD_ONLY and one.name != "device"]  # theirs: a sentinel
    defaults = [{one.name: one.default for one in each} for each in (ours, theirs)]
    assert [defaults[0][name] for name in keywords] == [defaults[1][name] for name in keywords]


def _taken(name: str, *arrays: np.ndarray) -> Any:
    """Return the strict result, or skip dtypes that the array API does not define."""
    try:
        return getattr(strict, name)(*(strict.asarray(one) for one in arrays))
    except TypeError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32"])
@pytest.mark.parametrize(
    "name", sorted(set(UNARY) - {"unique_all", "unique_counts", "unique_inverse", "unique_values"})
)
def test_functions_of_an_element(rng: np.random.Generator, name: str, dtype: str) -> None:
    x = _values(rng, dtype)
    expected = _taken(name, x)
    with gpuprims.use_device("reference"):
        _holds(getattr(xp, name)(x), expected, exact=False)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32"])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_elements(rng: np.random.Generator, name: str, dtype: str) -> None:
    x, y = _values(rng, dtype), _values(rng, dtype, 30)
    y = np.where(y > 0, y, 1).astype(dtype) if name in ("remainder", "floor_divide", "divide") else y
    y = np.abs(y) if name.endswith("shift") else y
    if name == "pow":
        if dtype not in ("float32", "uint16"):
            pytest.skip("raises to a power that may be negative")
        x, y = np.abs(x), np.abs(y)
    expected = _taken(name, x, y)
    with gpuprims.use_device("reference"):
        _holds(getattr(xp, name)(x, y), expected, exact=False)


@pytest.mark.parametrize("dtypes", ["bool int8", "int8 uint16", "uint32 uint64", "float32 int16"])
def test_logaddexp_of_integers_is_that_of_numpy(dtypes: str) -> None:
    x, y = (
        np.array(row).astype(dtype) for row, dtype in zip([[5, 3, 0, 1], [2, 7, 0, 1]], dtypes.split(), strict=True)
    )
    with gpuprims.use_device("reference"):
        got, expected = xp.logaddexp(x, y), np.logaddexp(x, y)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=2e-3 if got.dtype == np.float16 else 1e-6)


def test_round_of_integers_keeps_their_dtype() -> None:
    with gpuprims.use_device("reference"):
        for x in (np.array([3, -4], ">i4"), [3, -4], 3):
            got = xp.round(x)
            assert np.asarray(got).dtype == np.asarray(x).dtype.newbyteorder("=")
            np.testing.assert_array_equal(got, x)


FOLDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum": lambda m, x, axis: m.sum(x, axis=axis),
    "sum as float64": lambda m, x, axis: m.sum(x, axis=axis, dtype=m.float64 if m is strict else np.float64),
    "prod": lambda m, x, axis: m.prod(x, axis=axis, keepdims=True),
    "max": lambda m, x, axis: m.max(x, axis=axis),
    "min": lambda m, x, axis: m.min(x, axis=axis, keepdims=True),
    "mean": lambda m, x, axis: m.mean(x, axis=axis),
    "std": lambda m, x, axis: m.std(x, axis=axis, correction=1.0),
    "var": lambda m, x, axis: m.var(x, axis=axis, keepdims=True),
    "all": lambda m, x, axis: m.all(x, axis=axis),
    "any": lambda m, x, axis: m.any(x, axis=axis),
    "count_nonzero": lambda m, x, axis: m.count_nonzero(x, axis=axis),
    "argmax": lambda m, x, axis: m.argmax(x, axis=axis, keepdims=axis is not None),
    "argmin": lambda m, x, axis: m.argmin(x, axis=axis),
    "cumulative_sum": lambda m, x, axis: m.cumulative_sum(x, axis=axis or 0),
    "cumulative_sum, initial": lambda m, x, axis: m.cumulative_sum(x, axis=axis or 0, include_initial=True),
    "cumulative_prod": lambda m, x, axis: m.cumulative_prod(x, axis=-1, include_initial=True),
    "diff": lambda m, x, axis: m.diff(x, axis=axis or 0, n=2),
    "diff, joined": lambda m, x, axis: m.diff(x, prepend=x[:, :2], append=x[:, 3:4]),
    "sort": lambda m, x, axis: m.sort(x, axis=axis or 0),
    "sort down": lambda m, x, axis: m.sort(x, axis=axis or 0, descending=True),
    "argsort": lambda m, x, axis: m.argsort(x, axis=axis or 0),
    "argsort down": lambda m, x, axis: m.argsort(x, axis=axis or 0, descending=True),
    "take": lambda m, x, axis: m.take(
        x, m.asarray([2, 0, 1, 1]) if m is strict else np.array([2, 0, 1, 1]), axis=axis or 0
    ),
    "clip": lambda m, x, axis: m.clip(x, 1, 3),
    "clip above": lambda m, x, axis: m.clip(x, max=3),
    "where": lambda m, x, axis: m.where(x > x[:1, :], x, x[:, :1]),
    "isin": lambda m, x, axis: m.isin(x, x[0, :3]),  # the strict library forgets invert=
    "vecdot": lambda m, x, axis: m.vecdot(x, x[0, :]),
    "searchsorted": lambda m, x, axis: m.searchsorted(m.sort(x[0, :]), x[1, :], side="right"),
    "nonzero": lambda m, x, axis: m.nonzero(x),
    "unique_values": lambda m, x, axis: m.unique_values(x),
    "unique_counts": lambda m, x, axis: m.unique_counts(x),
    "unique_inverse": lambda m, x, axis: m.unique_inverse(x),
    "unique_all": lambda m, x, axis: m.unique_all(x),
}


def test_every_function_is_tried() -> None:
    tried = {name.partition(",")[0].partition(" ")[0] for name in FOLDS} | set(UNARY) | set(BINARY)
    assert tried | {"astype"} == set(xp.__all__)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", FOLDS)
def test_folds_orders_and_sets(device: gpuprims.Device, rng: np.random.Generator, name: str, dtype: str) -> None:
    need(device, dtype)
    x = _values(rng, dtype)
    x = np.clip(x, 0, 2) if name.startswith(("prod", "cumulative_prod")) else x
    for axis in (None, 1):
        try:
            expected = FOLDS[name](strict, strict.asarray(x), axis)
        except TypeError as error:
            pytest.skip(str(error))
        with gpuprims.use_device(device):
            _holds(FOLDS[name](xp, x, axis), expected, exact=False)


def test_nan_and_zeros_among_unique_elements(device: gpuprims.Device) -> None:
    x = np.array([np.nan, 0.0, -0.0, 1, np.nan, 1], np.float32)
    with gpuprims.use_device(device):
        values, counts = xp.unique_counts(x)
        assert xp.unique_all(x).counts.tolist() == counts.tolist() == [2, 2, 1, 1]
    np.testing.assert_array_equal(values, [0, 1, np.nan, np.nan])


def test_empty_arrays(device: gpuprims.Device) -> None:
    x = np.zeros((3, 0), np.float32)
    with gpuprims.use_device(device):
        assert xp.sum(x, axis=1).tolist() == [0, 0, 0]
        assert xp.cumulative_sum(x, axis=1, include_initial=True).tolist() == [[0], [0], [0]]
        assert xp.diff(x).shape == (3, 0)
        assert xp.sort(x).shape == (3, 0)


def test_arrays_of_a_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, 1000).astype(np.float32)
    there = on_device(device, x)
    for name in ("sqrt", "sum", "cumulative_sum", "sort", "argmax", "diff", "unique_values"):
        with np.errstate(all="ignore"):
            expected = getattr(strict, name)(strict.asarray(x))
        got = getattr(xp, name)(there)
        assert type(got) is type(there) or device.backend == "reference"  # whose results of no axes are scalars
        _holds(device.to_host(got), expected, exact=False)
    got = xp.cumulative_sum(there, include_initial=True)
    assert type(got) is type(there)
    np.testing.assert_allclose(device.to_host(got), np.append(0, np.cumsum(x)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_arrays_of_other_libraries(library: str) -> None:
    module = pytest.importorskip(library)
    x = module.asarray(np.array([3, 1, 2], np.float32))
    with gpuprims.use_device("reference"):
        for got in (
            xp.cumulative_sum(x, include_initial=True), xp.diff(x, append=x[:1]), xp.sqrt(x), xp.sort(x), xp.add(x, 2),
        ):  # fmt: skip
            assert type(got) is type(x)
        assert xp.cumulative_sum(x, include_initial=True).tolist() == [0, 3, 4, 6]


def test_astype() -> None:
    x = np.array([1.5, -2.5], np.float32)
    with gpuprims.use_device("reference"):
        assert xp.astype(x, np.int8).tolist() == [1, -2]
        assert xp.astype(x, np.float32, copy=False) is x
        assert xp.astype(x, np.float32) is not x
        wrong: list[Any] = ["no", 1, None]
        for flag in wrong:
            with pytest.raises(ArgumentError, match="copy= True or False"):
                xp.astype(x, np.int8, copy=flag)


@pytest.mark.parametrize(
    "dtypes", ["bool bool", "int8 int16", "uint8 uint8", "int32 uint16", "float32 float64", "complex64 float32"]
)
def test_inner_products_have_the_dtype_of_a_product(device: gpuprims.Device, dtypes: str) -> None:
    one, other = dtypes.split()
    need(device, one, other)
    x, y = np.arange(120).reshape(2, 60).astype(one), np.arange(60).astype(other)  # sums overflow small integers
    with gpuprims.use_device(device):
        got = xp.vecdot(x, y)
    assert got.dtype == np.result_type(one, other)
    np.testing.assert_array_equal(got, np.vecdot(x, y))


@pytest.mark.usefixtures("either_computes")
def test_isin_of_an_array_without_axes_has_none(device: gpuprims.Device) -> None:
    with gpuprims.use_device(device):
        for other in (np.ones(10, np.int32), np.arange(40, dtype=np.int32)):
            got = xp.isin(np.array(1, np.int32), other)
            assert np.shape(got) == ()
            assert got


def test_wrong_calls_are_refused_in_a_sentence() -> None:
    x = np.zeros((2, 3))
    with gpuprims.use_device("reference"):
        with pytest.raises(ArgumentError, match="cumulative_sum: axis= for an array of 2 axes; got None"):
            xp.cumulative_sum(x)
        with pytest.raises(ArgumentError, match="take: axis= for an array of 2 axes; got None"):
            xp.take(x, np.array([0]))
        with pytest.raises(ArgumentError, match="diff: n= an integer from 0 on; got -1"):
            xp.diff(x, n=-1)
        with pytest.raises(ArgumentError, match="vecdot: axis= below 0, counted from the last; got 0"):
            xp.vecdot(x, x, axis=0)
        with pytest.raises(AxisError, match="vecdot: axis= of an axis that both arrays have; got -2 for 2 and 1 axes"):
            xp.vecdot(x, x[0], axis=-2)
        with pytest.raises(ShapeError, match="vecdot: vectors of equal length; got 3 and 1 along axis -1"):
            xp.vecdot(x, x[:, :1])
        with pytest.raises(ArgumentError, match="astype: device=None, the array's own; got 'cpu'"):
            xp.astype(x, np.float32, device="cpu")


@pytest.mark.parametrize(("low", "high"), [(-1, 300), (-(2**63), 2**64 - 1)])
def test_comparisons_with_integers_that_the_dtype_cannot_hold(low: int, high: int) -> None:
    x = np.array([0, 1, 255], np.uint8)
    with gpuprims.use_device("reference"):
        assert xp.less(x, high).all()
        assert xp.greater(x, low).all()
        assert not xp.equal(high, x).any()
        assert not xp.less(x, -high * 10**20).any()
        with pytest.raises(OverflowError, match="a number that uint8 can hold"):
            xp.add(x, high)


@pytest.mark.parametrize("number", [-1000, 0, 256])
@pytest.mark.parametrize("name", ["divide", "logical_and", "logical_or", "logical_xor"])
def test_integers_that_the_dtype_cannot_hold_beside_functions_that_take_any(name: str, number: int) -> None:
    x = np.array([0, 1, 255], np.uint8)
    with gpuprims.use_device("reference"), np.errstate(divide="ignore", invalid="ignore"):
        for pair in ((x, number), (number, x)):
            got, expected = getattr(xp, name)(*pair), getattr(np, name)(*pair)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("number", [300, -1, 70_000, 2**40, -(2**70)])
@pytest.mark.parametrize("name", ["atan2", "copysign", "hypot", "logaddexp"])
def test_integers_that_the_dtype_cannot_hold_become_floats_of_the_result(name: str, number: int) -> None:
    known = {"atan2": "arctan2"}.get(name, name)
    with gpuprims.use_device("reference"), np.errstate(all="ignore"):
        for dtype in ("bool", "int8", "uint8", "int16", "uint32", "uint64", "float16", "float32"):
            x = np.array([0, 1, 1], dtype)
            for pair in ((x, number), (number, x)):
                got, expected = getattr(xp, name)(*pair), getattr(np, known)(*pair)
                assert got.dtype == expected.dtype
                np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(got.dtype).eps)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint64"])
def test_bounds_that_no_element_can_lie_beyond(device: gpuprims.Device, dtype: str) -> None:
    x = np.array([0, 1, 100], dtype)
    with gpuprims.use_device(device):
        for bounds in ((-(10**6), None), (None, 10**20), (-(10**20), 10**20), (-(10**6), 50), (2, 10**20)):
            got = xp.clip(x, *bounds)
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, np.clip(x, *bounds))
        with pytest.raises(OverflowError, match="can hold"):
            xp.clip(x, 10**20, 10**21)


@pytest.mark.parametrize("initial", [False, True])
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_folds_of_a_number_are_vectors(device: gpuprims.Device, name: str, *, initial: bool) -> None:
    x = np.array(3, np.int16)
    with gpuprims.use_device(device):
        for axis in (None, 0, -1):
            got = getattr(xp, name)(x, axis=axis, include_initial=initial)
            expected = getattr(np, name)(x, axis=axis, include_initial=initial)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected, strict=True)
