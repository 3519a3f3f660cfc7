"""gpuprims.xp on arrays that hypothesis draws, as array-api-tests does: any dtype, shape and special value.

That suite is not on the package index, and has its own command (namespace.py). Here the calls are drawn that CI runs:
each function of an array, against the array API's strict implementation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import gpuprims
from gpuprims import xp
from gpuprims.errors import DtypeError

strict = pytest.importorskip("array_api_strict")
extra = pytest.importorskip("hypothesis.extra.array_api")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

strategies = extra.make_strategies_namespace(strict)
# fmt: off
UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "conj", "cos", "cosh", "exp",
    "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log", "log1p", "log2", "log10", "logical_not", "negative",
    "positive", "real", "reciprocal", "round", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh",
    "trunc",
]
BINARY = [
    "add", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "divide", "equal", "floor_divide",
    "greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or",
    "logical_xor", "maximum", "minimum", "multiply", "not_equal", "pow", "remainder", "subtract",
]
# fmt: on
SHIFTS = ["bitwise_left_shift", "bitwise_right_shift"]
FOLDS = ["all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "prod", "std", "sum", "var"]
# Of no elements, these have no result.
OF_SOME = {"argmax", "argmin", "max", "min", "mean", "std", "var"}
SETS = ["nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"]
# Each call of these tests draws so many cases.
CASES = 200 if "--whole" in sys.argv else 6
DRAWN = settings(max_examples=CASES, derandomize=True, suppress_health_check=list(HealthCheck))


def numpys(given: Any) -> Any:
    """Return an array of the strict library as NumPy's."""
    return np.array(np.from_dlpack(given))


def arrays(**how: Any) -> Any:
    """Draw arrays of any dtype, of 0 to 3 axes of 0 to 6 elements, infinities, NaN and zeros of both signs included."""
    shapes = strategies.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6)
    return strategies.arrays(how.pop("dtype", strategies.scalar_dtypes()), how.pop("shape", shapes), **how)


@st.composite
def pairs(draw: Any) -> tuple[Any, Any]:
    """Draw two arrays of one dtype, whose shapes broadcast together."""
    dtype = draw(strategies.scalar_dtypes())
    shapes = draw(strategies.mutually_broadcastable_shapes(2, max_dims=3, max_side=6)).input_shapes
    first, second = (draw(arrays(dtype=dtype, shape=shape)) for shape in shapes)
    return first, second


def compare(name: str, *given: Any, **keywords: Any) -> None:
    """Compare a call with the strict one; leave out what the array API does not define."""
    try:
        expected = getattr(strict, name)(*given, **keywords)
    except (TypeError, ValueError):
        assume(condition=False)
    same = [numpys(one) if hasattr(one, "dtype") else one for one in given]
    with gpuprims.use_device("reference"), np.errstate(all="ignore"):
        got = getattr(xp, name)(*same, **keywords)
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (got, expected)), strict=True):
        holds(one, numpys(other), signs=name not in ("sum", "cumulative_sum", "mean"))


def holds(got: Any, expected: np.ndarray, *, signs: bool = True) -> None:
    """Compare dtype, shape and values; with ``signs``, zeros have theirs."""
    found = np.asarray(got)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, expected)
        return
    close = 1e-5 if np.finfo(expected.dtype).bits == 32 else 1e-12
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, expected, rtol=close, atol=0)
    if signs and expected.dtype.kind == "f":
        zero = expected == 0
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("name", UNARY)
@DRAWN
@given(x=arrays())
def test_functions_of_an_element(name: str, x: Any) -> None:
    compare(name, x)


@pytest.mark.parametrize("name", BINARY)
@DRAWN
@given(both=pairs())
def test_functions_of_two_elements(name: str, both: tuple[Any, Any]) -> None:
    x, y = both
    if name in ("floor_divide", "remainder") and numpys(y).dtype.kind in "iu":
        assume(bool((numpys(y) > 0).all()))
    if name == "pow" and numpys(y).dtype.kind == "i":  # a kernel cannot raise for a negative exponent
        with pytest.raises(DtypeError, match="power of integers: an unsigned or a constant exponent"):
            xp.pow(numpys(x), numpys(y))
        return
    compare(name, x, y)


@pytest.mark.parametrize("name", SHIFTS)
@DRAWN
@given(data=st.data())
def test_shifts(name: str, data: st.DataObject) -> None:
    dtype = data.draw(strategies.integer_dtypes())
    x = data.draw(arrays(dtype=dtype, shape=(5,)))
    y = data.draw(arrays(dtype=dtype, shape=(5,), elements={"min_value": 0, "max_value": 7}))
    compare(name, x, y)


@st.composite
def folded(draw: Any) -> tuple[Any, Any, bool]:
    """Draw an array, axes to fold, and whether to keep them."""
    x = draw(arrays(elements={"min_value": 0, "max_value": 9} if draw(st.booleans()) else None))
    axes = (
        st.none() if not x.ndim else st.none() | st.integers(-x.ndim, x.ndim - 1) | strategies.valid_tuple_axes(x.ndim)
    )
    return x, draw(axes), draw(st.booleans())


@pytest.mark.parametrize("name", FOLDS)
@DRAWN
@given(case=folded())
def test_folds(name: str, case: tuple[Any, Any, bool]) -> None:
    x, axis, keepdims = case
    assume(name not in OF_SOME or x.size)
    assume(name not in ("argmax", "argmin") or not isinstance(axis, tuple))
    whole = numpys(x)
    if whole.dtype.kind in "fc" and name in ("sum", "prod", "mean", "std", "var"):  # whose rounding differs
        whole = np.nan_to_num(np.round(whole / 2), posinf=1, neginf=-1)
        assume(bool((np.abs(whole) < 100).all()))
        x = strict.asarray(whole.astype(numpys(x).dtype))
    if name == "prod":
        assume(bool((np.abs(numpys(x)) < 10).all()))
    compare(name, x, axis=axis, keepdims=keepdims)


ALONG: dict[str, Callable[[st.DataObject], dict[str, Any]]] = {
    "cumulative_sum": lambda data: {"include_initial": data.draw(st.booleans())},
    "cumulative_prod": lambda data: {"include_initial": data.draw(st.booleans())},
    "diff": lambda data: {"n": data.draw(st.integers(0, 3))},
    "sort": lambda data: {"descending": data.draw(st.booleans())},
    "argsort": lambda data: {"descending": data.draw(st.booleans())},
}


@pytest.mark.parametrize("name", ALONG)
@DRAWN
@given(data=st.data())
def test_functions_along_an_axis(name: str, data: st.DataObject) -> None:
    shape = data.draw(strategies.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6))
    x = data.draw(arrays(shape=shape, elements={"min_value": 0, "max_value": 3}))
    assume("sort" not in name or numpys(x).dtype.kind != "c")
    keywords = ALONG[name](data) | {"axis": data.draw(st.integers(-len(shape), len(shape) - 1))}
    if numpys(x).dtype.kind in "fc":
        whole = np.round(numpys(x))
        assume(bool((np.abs(whole) < 10).all()))
        x = strict.asarray(whole)
    compare(name, x, **keywords)


@pytest.mark.parametrize("name", SETS)
@DRAWN
@given(x=arrays())
def test_sets_and_places(name: str, x: Any) -> None:
    assume(name != "nonzero" or x.ndim)
    assume(not np.isnan(numpys(x)).any())  # each counts for itself, in any order
    compare(name, x)


@DRAWN
@given(data=st.data())
def test_functions_of_several_arrays(data: st.DataObject) -> None:
    dtype = data.draw(strategies.real_dtypes())
    shape = data.draw(strategies.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6))
    x = data.draw(arrays(dtype=dtype, shape=shape))
    low, high = sorted(data.draw(st.lists(st.integers(0, 100), min_size=2, max_size=2)))
    compare("clip", x, min=data.draw(st.sampled_from([None, low])), max=data.draw(st.sampled_from([None, high])))
    condition = data.draw(arrays(dtype=strict.bool, shape=shape))
    compare("where", condition, x, data.draw(arrays(dtype=dtype, shape=(shape[-1],))))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    places = data.draw(arrays(dtype=strict.int64, shape=(4,), elements={"min_value": 0, "max_value": shape[axis] - 1}))
    compare("take", x, places, axis=axis)
    flat = strict.asarray(np.sort(numpys(x), axis=None))
    assume(not np.isnan(numpys(x)).any())
    compare(
        "searchsorted", flat, x[..., 0] if len(shape) > 1 else x, side=data.draw(st.sampled_from(["left", "right"]))
    )
    compare("isin", x, flat[:1])
    with gpuprims.use_device("reference"):  # the strict library forgets invert=
        one = numpys(flat)[:1]
        np.testing.assert_array_equal(xp.isin(numpys(x), one, invert=True), ~xp.isin(numpys(x), one))
    with gpuprims.use_device("reference"):
        holds(xp.astype(numpys(x), np.float64), numpys(strict.astype(x, strict.float64)))
