"""The launch plan of random numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from gpuprims.core.arrays import copy_on
from gpuprims.core.capabilities import Capabilities
from gpuprims.core.device import Device, device_of
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import unchanged
from gpuprims.core.keywords import is_one_of
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing
from gpuprims.core.layout import Form, contiguous, plan_layout
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, did_you_mean, quoted
from gpuprims.expressions import TypedExpr, computable, trace, typed
from gpuprims.primitives.philox import distributions
from gpuprims.primitives.philox.spec import PhiloxSpec

Kind = Literal["uniform", "normal", "bits", "integers"]
_UINT64 = np.dtype(np.uint64)
_FLOATS, _WORDS = ("float64", "float32"), ("uint64", "uint32")
# Other libraries' names of kinds.
_INSTEAD = {
    "gaussian": "normal", "gauss": "normal", "randn": "normal", "standard_normal": "normal", "rand": "uniform",
    "random": "uniform", "randint": "integers", "int": "integers", "words": "bits", "bytes": "bits",
}  # fmt: skip
# By kind, the dtypes of its numbers; the first is the default.
_DTYPES: dict[str, Sequence[str]] = {
    "uniform": _FLOATS,
    "normal": _FLOATS,
    "bits": _WORDS,
    "integers": ("int64", "uint64", "int32", "uint32", "int16", "uint16", "int8", "uint8"),
}
# Most integers to choose from: the chance of each is then as good as equal.
_MOST = 2**32
# Groups of a compute unit that few numbers are for, and by how much each then takes fewer; steps of two would compile
# twice as many kernels (rows: grid-few).
_GROUPS, _FEWER = 8, 4
# Elements that no memory can hold, so that sizes in bytes fit in int64.
_MOST_ELEMENTS = 2**60


class RandomRequest(NamedTuple):
    """The numbers to make; ``many`` integers from ``low`` on."""

    shape: tuple[int, ...]
    kind: Kind
    dtype: np.dtype[Any]
    low: int = 0
    many: int = 0

    @property
    def word(self) -> np.dtype[Any]:
        """The dtype of the random word of a number."""
        return np.dtype(np.uint64 if self.kind == "integers" or self.dtype.itemsize == 8 else np.uint32)

    @property
    def function(self) -> TypedExpr:
        """The function from words to as many numbers."""
        return _function(self.kind, self.dtype, self.low, self.many, self.word)


@cache
def _function(kind: str, dtype: np.dtype[Any], low: int, count: int, word: np.dtype[Any]) -> TypedExpr:
    number: Callable[..., Any] = distributions.bits
    if kind == "uniform":
        number = distributions.uniform(dtype)
    elif kind == "normal":
        number = distributions.normal(dtype)
    elif kind == "integers":
        number = distributions.integers(dtype, low, count)
    return typed(trace(number), (word,) * (2 if kind == "normal" else 1))


def bind(
    arrays: tuple[Any, ...],
    shape: Any = None,
    kind: Kind = "uniform",
    dtype: Any = None,
    low: int | None = None,
    high: int | None = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, RandomRequest, Out | None, str | Variant | None]:
    """Find the device of a call, and check its arguments."""
    (key,) = arrays
    if shape is None and out is None:
        raise ArgumentError("random: a shape, or out=; got neither")
    if isinstance(out, tuple):
        raise ArgumentError(f"random: out= one array; got a tuple of {len(out)}")
    operands = _operands(key, out, device)
    result = as_out(operands, out)
    if result is not None:
        (native,) = result.natives
        shape, dtype = native.shape if shape is None else shape, native.dtype if dtype is None else dtype
    request = _request(_shape(shape), kind, dtype, low, high)
    asked = None if variant is None else asked_by_name("philox", variant)
    return operands, request, result, asked


def _operands(key: Any, out: Any, device: str | Device | None) -> Operands:
    """Return the key as the operand of a call; one of the host is copied to the device of ``out=``."""
    words = key if hasattr(key, "dtype") and not isinstance(key, type) else key_words(key)
    if not _are_key(words):
        got = f"an array of {words.dtype} of shape {tuple(words.shape)}"
        raise ArgumentError(f"random: a key of two uint64, (key, stream), if it is an array; got {got}")
    if out is not None and isinstance(words, np.ndarray):
        beside = as_operands("random", (out,), device)
        if not beside.on_host:
            return Operands("random", beside.device, (copy_on(beside.device, words),), False, beside.convert)
    return as_operands("random", (words,), device)


def _are_key(words: Any) -> bool:
    dtype = words.dtype
    wide = dtype == _UINT64 if isinstance(dtype, np.dtype) else str(dtype).rpartition(".")[2] == "uint64"  # torch's
    return bool(words.shape == (2,) and wide)


def key_beside(words: np.ndarray, out: Any) -> Any:
    """Return words of a key on the device of ``out``: later calls by other keys then find the plan of this one."""
    there = device_of(out)
    return words if there is None or not _are_key(words) else copy_on(there, words)


def key_words(key: Any) -> np.ndarray:
    """Return a key, or a key and a stream, as two words."""
    given = key if isinstance(key, tuple) else (key, 0)
    try:
        words = [operator.index(one) for one in given]
    except TypeError:
        words = []
    if len(words) != 2 or not all(0 <= word < 2**64 for word in words):
        rule = "a key from 0 to 2**64 - 1, or a tuple of such a key and a stream"
        shape = isinstance(key, tuple) and len(key) != 2
        others = "(5,), 'normal'" if isinstance(key, str) else "(3, 4, 5)" if shape else None
        hint = f" (the key comes first: random(7, {others}))" if others else ""
        raise ArgumentError(f"random: {rule}; got {quoted(key)}{hint}")
    return np.array(words, np.uint64)


def _shape(shape: Any) -> tuple[int, ...]:
    try:
        lengths = tuple(map(operator.index, shape)) if hasattr(shape, "__iter__") else (operator.index(shape),)
    except TypeError:
        lengths = (-1,)
    if any(length < 0 for length in lengths):
        whole = isinstance(shape, float) and shape.is_integer() and shape > 0
        hint = f" (write {int(shape)})" if whole else ""
        raise ShapeError(f"random: a shape of integers from 0 on; got {quoted(shape)}{hint}")
    if math.prod(max(length, 1) for length in lengths) >= _MOST_ELEMENTS:
        raise ShapeError(f"random: a shape of fewer than 2^60 elements; got {quoted(shape)}")
    return lengths


def _request(shape: tuple[int, ...], kind: Any, dtype: Any, low: Any, high: Any) -> RandomRequest:
    if not is_one_of(kind, get_args(Kind)):
        hint = did_you_mean(kind, get_args(Kind), _INSTEAD)
        if hasattr(kind, "__index__"):
            hint = f" (a shape of several axes is a tuple: ({', '.join(map(str, shape))}, {kind}))"
        raise ArgumentError(f"random: kind= 'uniform', 'normal', 'bits' or 'integers'; got {quoted(kind)}{hint}")
    wanted = computable(_DTYPES[kind][0] if dtype is None else dtype, "random")
    if wanted.name not in _DTYPES[kind]:
        raise DtypeError(f"random: dtype= of {kind} one of {', '.join(_DTYPES[kind])}; got {wanted}")
    if kind != "integers":
        if low is not None or high is not None:
            rule = "low= and high= for kind='integers' only"
            raise ArgumentError(f"random: {rule}; got kind={kind!r} (scale the numbers)")
        return RandomRequest(shape, kind, wanted)
    least, most = int(np.iinfo(wanted).min), int(np.iinfo(wanted).max) + 1
    try:
        first, end = operator.index(0 if low is None else low), operator.index(high)
    except TypeError as error:
        rule = "high= an integer, and low= an integer or 0, for kind='integers'"
        raise ArgumentError(f"random: {rule}; got high={quoted(high)} and low={quoted(low)}") from error
    if not least <= first < end <= most or end - first > _MOST:
        rule = f"low= less than high=, both from {least} to {most} for {wanted}, and at most 2**32 apart"
        raise ArgumentError(f"random: {rule}; got {first} and {end} (kind='bits' gives whole words)")
    return RandomRequest(shape, kind, wanted, first, end - first)


@keeps_calls()
def plan_call(
    request: RandomRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about random numbers but the memory."""
    result, n = contiguous(request.dtype, request.shape, alignment), math.prod(request.shape)
    (target,) = result_forms("random", (result,), written)
    function = request.function
    dtypes, item = (*function.computed_in, request.dtype), request.dtype.itemsize
    # Each number comes from operations that all devices round alike.
    traits = CallTraits(dtypes, 1, n, value_bytes=item, rounds=False, portable=True)

    def compiling(chosen: Variant) -> Launch:
        if not n:
            return nothing
        key = forms[0]._replace(shape=(), strides=())
        layout = plan_layout((key, target), request.shape, range(len(request.shape)))
        spec = PhiloxSpec(
            inputs=layout.accesses[:1],
            outputs=layout.accesses[1:],
            values=function.dtypes[:1],
            map=function,
            finish=unchanged(function.dtypes[:1]),
            vector=min(layout.vector_width(), 16 // request.word.itemsize),
            word=request.word,
        )
        fitted = _fitted(chosen, n, 16 // request.word.itemsize, device.capabilities)
        groups = fitted.groups(-(-n // fitted.tile), device.capabilities)
        return device.kernel(fitted, spec).prepare(groups, layout.pack(0), n)

    return LaunchPlan(device, "philox", traits, (result,), compiling, asked=variant, inputs=(0,))


def _fitted(chosen: Variant, n: int, numbers: int, able: Capabilities) -> Variant:
    """Return the variant with as few items as fill the device; a work-item takes blocks of ``numbers``."""
    items, most = chosen.items, chosen.block * able.compute_units * _GROUPS
    while items // _FEWER >= numbers and most * (items // _FEWER) >= n:
        items //= _FEWER
    return chosen.resized(items=items)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of ``call.size`` uniform numbers."""
    forms = (contiguous(np.dtype(np.uint64), (2,), 16),)
    dtype = call.dtype if call.dtype.name in _FLOATS else np.dtype(np.float32)
    return plan_call(RandomRequest((call.size,), "uniform", dtype), forms, None, 16, call.device, None, 0)
