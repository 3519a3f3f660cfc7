"""Operators: their construction, identities, dtypes, and the laws that kernels rely on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gpuprims
from gpuprims.errors import ArgumentError, DtypeError, ExpressionError, UnknownOperatorError
from gpuprims.expressions import expression, trace
from gpuprims.expressions.expr import COMPUTABLE
from gpuprims.operators import OPERATORS, Folding, Op, find_op, make_folding

FLOAT32, FLOAT64, INT32, INT64 = (np.dtype(name) for name in ("float32", "float64", "int32", "int64"))
AFFINE = Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1, 0), name="affine")
DTYPES = pytest.mark.parametrize("dtype", [dtype for dtype in COMPUTABLE if dtype.kind != "c"], ids=str)
OF_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
SPREADS = ("var", "std", "nanvar", "nanstd")
# minmax folds as ptp, and takes bools.
NAMES = pytest.mark.parametrize("name", [name for name in OPERATORS if name not in ("ptp", *OF_BITS)])


def folding(op: str | Op, dtype: Any, asked: Any = None) -> Folding:
    """An operator of plain elements of one dtype."""
    op = find_op(op)
    elements = trace(lambda *xs: xs, op.elements)
    return make_folding(op, elements, (np.dtype(dtype),) * op.elements, None if asked is None else np.dtype(asked))


# Construction


def test_a_function_and_a_string_make_the_same_operator() -> None:
    assert Op(lambda a, b: a * b + 1, 0).fold == Op("a*b + 1", 0).fold


def test_a_tuple_identity_gives_tuples_to_the_function() -> None:
    assert AFFINE.components == 2
    assert AFFINE.fold(2, 1, 3, 5) == (6, 8)


def test_a_string_takes_the_components_one_by_one() -> None:
    complex_product = Op("a*c - b*d, a*d + b*c", identity=(1, 0))
    assert complex_product.fold.parameters == ("a", "c", "b", "d")
    assert complex_product.components == 2


def test_a_tuple_of_one_component_is_a_tuple_for_the_function() -> None:
    assert Op(lambda p, q: (p[0] + q[0],), identity=(0,)).fold(2, 3) in ((5,), 5)


def test_a_numpy_function_is_an_operator() -> None:
    assert int(gpuprims.reduce([3, 9, 4], op=Op(np.maximum, -1), device="reference")) == 9


def test_an_operator_shows_what_it_is() -> None:
    assert repr(AFFINE) == "Op('affine', components=2, commutative=False)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Op("a + b + c", 0), r"a function of two values of 1 component\(s\); got one of \(a, b, c\)"),
        (lambda: Op("a + 1", 0), r"two values of 1 component\(s\); got one of \(a\)"),
        (lambda: Op(lambda a: a, 0), r"got one of \(a\)"),
        (lambda: Op("a + b", identity=(0, 0)), r"two values of 2 component\(s\)"),
        (lambda: Op(lambda a, b: a if a > b else b, 0), "if, while"),
        (lambda: Op(7, 0), "; got int"),  # type: ignore[arg-type]  # as a caller may
        (lambda: Op(lambda a, b: None, 0), "got None"),
        (lambda: Op("a and b", 0), "'and' or 'or'"),
    ],
)
def test_an_operator_of_the_wrong_shape_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        make()


@pytest.mark.parametrize(
    "make", [lambda: Op(lambda p, q: p[0] + q[0], identity=(0, 0)), lambda: Op("a + b, a - b", identity=0)]
)
def test_an_operator_gives_as_many_components_as_its_identity_has(make: Any) -> None:
    with pytest.raises(ArgumentError, match=r"component\(s\), as the identity has; got"):
        make()


def test_an_unknown_operator_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownOperatorError, match=r"op: an Op or one of sum, prod, mean.*; got 'median'"):
        find_op("median")
    for given_ in (None, 3, np.subtract, ["sum"]):
        with pytest.raises(UnknownOperatorError):
            find_op(given_)


def test_an_operator_needs_an_element_for_each_component() -> None:
    with pytest.raises(ArgumentError, match=r"reduce with affine: 2 array\(s\).*; got 1"):
        make_folding(AFFINE, expression("x"), (FLOAT32,), None)


def test_an_operator_leaves_out_what_it_skips(device: gpuprims.Device) -> None:
    mean = Op(lambda a, b: a + b, 0, skips=lambda x: x < 0, finish=lambda total, count: total / count)
    x = np.array([3, -9, 4, -9, 5, -1, 0, 2], np.float32)
    assert gpuprims.reduce(x, op=mean, device=device) == np.float32(2.8)
    parts = gpuprims.reduce(x, op=mean, segments=[0, 4, 8], device=device)
    np.testing.assert_array_equal(parts, np.array([3.5, 7 / 3], np.float32))
    expected = np.array([3, 3, 3.5, 3.5, 4, 4, 3, 2.8], np.float32)
    np.testing.assert_array_equal(gpuprims.scan(x, op=mean, device=device), expected)
    longest = Op(
        lambda p, q: (np.maximum(p[0], q[0]), p[1] + q[1]), (-np.inf, 0.0), commutative=True, skips=lambda x, y: x > y
    )
    kept = x <= x[::-1]
    got = gpuprims.reduce(x, x[::-1], op=longest, device=device)
    assert got == (x[kept].max(), x[::-1][kept].sum())


# Identities


@DTYPES
@NAMES
def test_an_identity_has_the_values_dtypes(name: str, dtype: np.dtype[Any]) -> None:
    made = folding(name, dtype)
    assert tuple(np.asarray(scalar).dtype for scalar in made.identity) == made.values


@pytest.mark.parametrize("dtype", [dtype for dtype in COMPUTABLE if dtype.kind in "biu"], ids=str)
@pytest.mark.parametrize("name", OF_BITS)
def test_the_identity_of_bits_is_numpys(name: str, dtype: np.dtype[Any]) -> None:
    made = folding(name, dtype)
    expected = getattr(np, name).reduce(np.empty(0, dtype))
    assert (made.identity, made.values, made.outputs) == ((expected,), (dtype,), (expected.dtype,))


@pytest.mark.parametrize("name", OF_BITS)
def test_floats_have_no_bits_to_fold(name: str) -> None:
    with pytest.raises(DtypeError, match="bitwise_xor: integers or bools; got elements of float32"):
        folding(name, "float32")
    with pytest.raises(DtypeError, match="integers or bools; got dtype=float64"):
        folding(name, "int8", "float64")


@DTYPES
def test_the_identity_of_max_is_the_lowest_value_and_of_min_the_highest(dtype: np.dtype[Any]) -> None:
    lowest, highest = {"b": (False, True), "f": (-np.inf, np.inf)}.get(dtype.kind, (None, None))
    if lowest is None:
        lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
    assert folding("max", dtype).identity == (lowest,)
    assert folding("min", dtype).identity == (highest,)
    assert folding("argmax", dtype).identity[0] == lowest
    assert folding("argmin", dtype).identity[0] == highest


@pytest.mark.parametrize(("identity", "dtype"), [(300, "uint8"), (-1, "uint32"), (2**64, "int64"), ("zero", "float32")])
def test_an_identity_that_the_dtype_cannot_hold_is_refused(identity: Any, dtype: str) -> None:
    with pytest.raises(DtypeError, match=rf"an identity that {dtype} can hold; got {identity!r}"):
        folding(Op(lambda a, b: np.maximum(a, b), identity), dtype)


def test_an_identity_loses_nothing_on_its_way_to_the_dtype() -> None:
    with pytest.raises(DtypeError, match="an identity that"):
        folding(Op(lambda a, b: np.maximum(a, b), 0.5), "int32")


def test_an_identity_of_too_few_components_is_refused() -> None:
    with pytest.raises(DtypeError, match="an identity that"):
        folding(Op(lambda p, q: (p[0], p[1]), lambda dtypes: (0,), components=2), "int32")


# Dtypes


@DTYPES
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "min", "max", "any", "all", "argmin", "argmax"])
def test_the_result_dtype_is_numpys(name: str, dtype: np.dtype[Any]) -> None:
    assert folding(name, dtype).outputs == (getattr(np, name)(np.ones(2, dtype)).dtype,)


@DTYPES
@pytest.mark.parametrize("asked", ["int16", "uint64", "float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_a_dtype_asked_for_is_the_result_dtype(name: str, asked: str, dtype: np.dtype[Any]) -> None:
    made = folding(name, dtype, asked)
    assert made.outputs == (getattr(np, name)(np.ones(2, dtype), dtype=asked).dtype,)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name not in ("any", "all", "count_nonzero", *OF_BITS)])
def test_float16_is_folded_in_float32(name: str) -> None:
    assert folding(name, "float16").values[0] == FLOAT32


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("any", "int32"),
        ("all", "float32"),
        ("argmin", "int32"),
        ("argmax", "float64"),
        ("mean", "int64"),
        ("mean", "bool"),
    ],
)
def test_a_dtype_that_an_operator_has_no_result_in_is_refused(name: str, asked: str) -> None:
    with pytest.raises(DtypeError, match=rf"; got dtype={asked}"):
        folding(name, "float32", asked)


@pytest.mark.parametrize(
    ("fn", "dtype", "settled"),
    [
        ("maximum(a, b)", "int8", "int8"),
        ("a ^ b", "uint16", "uint16"),
        ("a * b", "float64", "float64"),
        ("a + b + float32(0)", "int8", "float32"),
        ("sqrt(a*a + b*b)", "int32", "float64"),
        ("a | b", "bool", "bool"),
    ],
)
def test_a_user_operator_settles_on_the_dtype_it_keeps(fn: str, dtype: str, settled: str) -> None:
    assert folding(Op(fn, 0), dtype).outputs == (np.dtype(settled),)


def test_a_user_operator_of_float16_keeps_it_for_the_result() -> None:
    made = folding(Op("a * b", 1), "float16")
    assert (made.values, made.outputs) == ((FLOAT32,), (np.dtype("float16"),))


def test_each_component_settles_by_itself() -> None:
    made = make_folding(AFFINE, trace(lambda *xs: xs, 2), (INT32, FLOAT32), None)
    assert made.outputs == (INT32, FLOAT64)


def test_a_dtype_asked_for_is_what_a_user_operator_folds_in() -> None:
    assert folding(Op("a * b", 1), "int8", "float32").outputs == (FLOAT32,)


def test_an_operator_whose_dtype_keeps_growing_is_refused() -> None:
    growing = Op(
        lambda p, q: (p[0] + q[1], p[1] + q[2], p[2] + q[3], p[3] + q[4], p[4] * np.float64(1)), identity=(0,) * 5
    )
    with pytest.raises(DtypeError, match="a function whose result has its operands' dtype; got a growing"):
        make_folding(growing, trace(lambda *xs: xs, 5), (np.dtype("int8"),) * 5, None)


# Laws


def fold(made: Folding, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """Two values, component by component, to one, as kernels fold them."""
    with np.errstate(all="ignore"):
        return made.op(*left, *right)


def values(made: Folding, elements: np.ndarray, start: int) -> tuple[Any, ...]:
    """Elements as an operator's values, numbered from ``start``."""
    return made.map(elements, np.arange(start, start + elements.size))


def same(got: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


# Sums and products of floats are associative up to rounding alone: they are held to the laws on numbers that stay
# exact.
EXACT_FLOATS = st.sampled_from([-4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, np.inf, -np.inf, np.nan])
ROUNDING = ("sum", "prod", "mean", "norm", "nansum", "nanprod", "nanmean")
# Moments divide by numbers of elements, so that their components agree up to rounding alone: test_laws.
EXACT = pytest.mark.parametrize("name", [name for name in OPERATORS if name not in ("ptp", *SPREADS, *OF_BITS)])


def elements_of(name: str, dtype: np.dtype[Any]) -> st.SearchStrategy[np.ndarray]:
    if dtype.kind != "f":
        in_float64 = name in ("mean", "norm", "nanmean") and dtype.kind != "b"
        small = st.integers(0, 100) if in_float64 else None
        return hnp.arrays(dtype, 6, elements=small)
    numbers = EXACT_FLOATS if name in ROUNDING else st.floats(width=16) | EXACT_FLOATS
    return hnp.arrays(dtype, 6, elements=numbers)


LAW_DTYPES = pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint16", "float16", "float32", "float64"])


@LAW_DTYPES
@EXACT
@given(data=st.data())
@settings(max_examples=25)
def test_folds_are_associative(name: str, dtype: str, data: st.DataObject) -> None:
    made = folding(name, dtype)
    parts = data.draw(elements_of(name, np.dtype(dtype)))
    a, b, c = (values(made, parts[k : k + 2], k) for k in (0, 2, 4))
    same(fold(made, fold(made, a, b), c), fold(made, a, fold(made, b, c)))


@LAW_DTYPES
@EXACT
@given(data=st.data())
@settings(max_examples=15)
def test_folds_keep_a_value_met_by_the_identity(name: str, dtype: str, data: st.DataObject) -> None:
    made = folding(name, dtype)
    a = values(made, data.draw(elements_of(name, np.dtype(dtype))), 0)
    nothing = tuple(np.full(6, scalar) for scalar in made.identity)
    same(fold(made, nothing, a), a)
    same(fold(made, a, nothing), a)


@LAW_DTYPES
@pytest.mark.parametrize(
    "name", [name for name, op in OPERATORS.items() if op.commutative and name not in ("ptp", *SPREADS, *OF_BITS)]
)
@given(data=st.data())
@settings(max_examples=15)
def test_folds_that_claim_to_commute_do(name: str, dtype: str, data: st.DataObject) -> None:
    made = folding(name, dtype)
    parts = data.draw(elements_of(name, np.dtype(dtype)))
    a, b = values(made, parts[:3], 0), values(made, parts[3:], 3)
    same(fold(made, a, b), fold(made, b, a))


@LAW_DTYPES
@pytest.mark.parametrize("name", ["argmin", "argmax", "min", "max"])
@given(data=st.data())
@settings(max_examples=25)
def test_a_fold_of_elements_is_numpys_answer(name: str, dtype: str, data: st.DataObject) -> None:
    made = folding(name, dtype)
    elements = data.draw(elements_of(name, np.dtype(dtype)))
    folded = tuple(np.asarray(scalar)[None] for scalar in made.identity)
    for k in range(elements.size):
        folded = fold(made, folded, values(made, elements[k : k + 1], k))
    got = made.finish(*folded, made.finish.nodes[len(folded)].dtype.type(elements.size))[0]
    np.testing.assert_array_equal(got[0], getattr(np, name)(elements))


def test_the_affine_operator_does_not_commute() -> None:
    assert not AFFINE.commutative
    assert AFFINE.fold(2, 1, 3, 5) != AFFINE.fold(3, 5, 2, 1)


def test_a_mean_is_a_sum_divided_at_the_end() -> None:
    made = folding("mean", "int8")
    total = fold(made, (np.float64(100),), (np.float64(50),))
    assert made.finish(*total, np.float64(4)) == (37.5,)
