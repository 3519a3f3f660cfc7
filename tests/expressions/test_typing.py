"""Every dtype of an expression is NumPy's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from expression_samples import same

from gpuprims.errors import DtypeError
from gpuprims.expressions import c_type, computable, parse, trace, typed
from gpuprims.expressions.emit import literal
from gpuprims.expressions.expr import COMPUTABLE
from gpuprims.expressions.functions import FUNCTIONS, LOGICAL

WEAK: tuple[Any, ...] = (0, 3, -1, 100, 300, 70_000, 2**40, 2**63, 0.0, 1.5, 1e300, math.inf, math.nan, 2.5j)
# What this library refuses although NumPy computes it, each a sentence of its documentation.
REFUSALS = (
    "power of integers: an unsigned or a constant exponent >= 0",  # NumPy raises at run time, a kernel cannot
    "constant: a number that",  # NumPy's where wraps it
    "comparison: an integer of at most 64 bits",  # NumPy compares with any
)


def numpys_dtype(name: str, operands: Sequence[Any]) -> np.dtype[Any] | None:
    """The dtype that NumPy computes on arrays of one and Python scalars, or None where it raises."""
    values = [np.ones(1, one) if isinstance(one, np.dtype) else one for one in operands]
    with np.errstate(all="ignore"):
        try:
            return np.asarray(FUNCTIONS[name].numpy(*values)).dtype
        except (TypeError, ValueError, OverflowError):
            return None


def typed_dtype(name: str, operands: Sequence[Any]) -> np.dtype[Any] | str:
    """The dtype this library gives the call, or its refusal."""

    def function(*arguments: Any) -> Any:
        left = iter(arguments)
        return FUNCTIONS[name].numpy(*(next(left) if isinstance(one, np.dtype) else one for one in operands))

    dtypes = [one for one in operands if isinstance(one, np.dtype)]
    with np.errstate(all="ignore"):  # 1e300 as a float16 warns, as it does in NumPy
        try:
            return typed(trace(function, len(dtypes)), dtypes).dtypes[0]
        except DtypeError as error:
            return str(error)


def typing_mistakes(name: str, scalars: Sequence[Any]) -> list[str]:
    """Every call of a function whose dtype is neither NumPy's nor a documented refusal."""
    mistakes = []
    for operands in itertools.product((*COMPUTABLE, *scalars), repeat=FUNCTIONS[name].arity):
        if not any(isinstance(one, np.dtype) for one in operands) or (name == "where" and operands[0] != np.bool_):
            continue
        expected, got = numpys_dtype(name, operands), typed_dtype(name, operands)
        refused = isinstance(got, str) and (expected is None or any(reason in got for reason in REFUSALS))
        if got != expected and not refused:
            mistakes.append(f"{name}({', '.join(map(str, operands))}): NumPy {expected}, here {got}")
    return mistakes


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_result_dtype_is_numpys(name: str) -> None:
    # A logical function of an integer beyond 64 bits is the one call that raises in NumPy and not here.
    scalars = [s for s in WEAK if s != 2**63] if name in (*LOGICAL, "logical_xor") else WEAK
    assert typing_mistakes(name, scalars) == []


def test_a_python_bool_types_as_in_numpy() -> None:
    assert [mistake for name in FUNCTIONS for mistake in typing_mistakes(name, (True, False))] == []


def test_refusals_are_met_where_they_are_documented() -> None:
    int32 = np.dtype("int32")
    assert REFUSALS[0] in str(typed_dtype("power", (int32, int32)))
    assert REFUSALS[0] in str(typed_dtype("power", (int32, -1)))
    assert REFUSALS[1] in str(typed_dtype("add", (int32, 2**40)))


@pytest.mark.parametrize("source", ["x > -1", "x < -1", "x == -1", "-1 < x", "x >= 300", "300 != x", "x < 2**40"])
@pytest.mark.parametrize("dtype", [dtype for dtype in COMPUTABLE if dtype.kind in "iu"], ids=str)
def test_a_comparison_with_an_integer_out_of_range_is_exact(source: str, dtype: np.dtype[Any]) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.min, 0, 1, 100, info.max], dtype)
    try:
        function = typed(parse(source), [dtype])
    except DtypeError as error:
        assert any(reason in str(error) for reason in REFUSALS)  # noqa: PT017 - a refusal is as good as an answer
        return
    same(function(x)[0], eval(source, {"x": x}))  # noqa: S307 - the strings are those above


def test_results_are_converted_when_asked() -> None:
    function = typed(parse("x + 1"), [np.dtype("int8")], [np.dtype("float32")])
    same(function(np.array([1, 2], np.int8))[0], np.array([2, 3], np.float32))


def test_a_scalar_that_meets_nobody_has_numpys_default_dtype() -> None:
    assert typed(trace(lambda x: (1, 1.0, True)), [np.dtype("int8")]).dtypes == (
        np.dtype("int64"), np.dtype("float64"), np.dtype("bool"),
    )  # fmt: skip


def test_equal_functions_of_equal_dtypes_compile_to_one_kernel() -> None:
    float32 = np.dtype("float32")
    assert typed(parse("x * 2 + y"), [float32] * 2) == typed(trace(lambda x, y: x * 2 + y), [float32] * 2)


@pytest.mark.parametrize("dtype", COMPUTABLE, ids=str)
def test_a_computable_dtype_comes_back_native(dtype: np.dtype[Any]) -> None:
    assert computable(dtype.newbyteorder("S"), "test") == dtype


@pytest.mark.parametrize(
    "dtype", ["clongdouble", "O", "U3", "S3", "datetime64[s]", "timedelta64[s]", "longdouble", "V4"]
)
def test_other_dtypes_are_refused_by_name(dtype: str) -> None:
    with pytest.raises(DtypeError, match="test: bool, an integer, float16 to float64, complex64 or complex128; got"):
        computable(dtype, "test")


def test_an_unknown_dtype_is_refused() -> None:
    with pytest.raises(DtypeError, match="test: a dtype that NumPy knows; got 'float31'"):
        computable("float31", "test")


@pytest.mark.parametrize("dtype", [dtype for dtype in COMPUTABLE if dtype.kind in "iu"], ids=str)
def test_the_extreme_integers_have_literals(dtype: np.dtype[Any]) -> None:
    info = np.iinfo(dtype)
    for value in (info.min, info.max):
        assert eval(literal(dtype.type(value)).replace("UL", "")) == value  # noqa: S307 - C's arithmetic is Python's here


def test_a_float_literal_is_a_floating_number_of_its_width() -> None:
    assert literal(np.float32(1)) == "(1.0f)"
    assert literal(np.float64(1e30)) == "(1e+30)"
    # NVRTC leaves 1.0f / 0.0f to the GPU, which then divides for each element.
    assert literal(np.float32("nan")) == "gp_from_bits_f32(0x7fc00000u)"
    assert literal(np.float64("-inf")) == "gp_from_bits_f64(0xfff0000000000000UL)"


def test_float16_is_computed_in_float_registers() -> None:
    assert c_type(np.dtype("float16")) == c_type(np.dtype("float32"))
