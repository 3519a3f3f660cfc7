"""Maps of few elements by NumPy, with the bits of the kernels, or of floats in C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import ANY_SIZE, ByNumPy, Compute, Few
from gpuprims.core.device import Device
from gpuprims.core.layout import Form, is_contiguous
from gpuprims.expressions import TypedExpr
from gpuprims.expressions.exact import is_exact, prepared, prepared_alone
from gpuprims.primitives.floats_by_numpy import FLOATS, has_nan, in_c

# NumPy reads and writes an array for each operation, and looks for NaN among floats.
_FEW, _FEW_OF_MANY, _MOST = Few(near=2**15, woken=2**16), Few(near=0, woken=2**16), 2  # rows: by_numpy
_FEW_IN_C = Few(near=2**13, woken=2**16)  # rows: by_numpy-floats, by_numpy-numbers
_FEW_BY_ONE_STEP = {"float32": Few(near=2**14, woken=2**16), "float64": _FEW_IN_C}  # rows: by_numpy-wide
_FEW_PAIRS_IN_C = {"complex64": Few(2**20, 2**20), "complex128": Few(2**17, 2**17)}  # rows: by_numpy-complex
_FEW_CHOSEN = Few(near=2**12, woken=2**16)  # rows: by_numpy-chosen
# Bytes of the widest array up to which NumPy is faster: for one operation without floats, and for a copy.
_BYTES, _COPIED_BYTES = 2**20, 2**22  # rows: by_numpy-one
# Intel's compiler converts 64-bit integers to float32 one by one, NumPy several at once. Of others, NumPy is faster for
# integers of 4 bytes (rows: by_numpy-one, by_numpy-casts).
_ALL, _CAST = Few(near=ANY_SIZE, woken=ANY_SIZE), 4
_FEW_CAST, _FEW_FLOATS_CAST = Few(near=2**14, woken=2**16), Few(near=2**11, woken=2**16)  # rows: by_numpy-casts
_FEW_CAST_IN_C = Few(near=2**15, woken=2**17)  # rows: by_numpy-casts-in-c
# Of real numbers that become complex; rows: by_numpy-casts-in-c.
_FEW_MADE = {"complex64": Few(2**18, 2**18), "complex128": Few(near=2**12, woken=2**16)}
# The operations of floats.c, by number, and bytes of a step; more values than _MOST_VALUES have no room there.
_OPERATIONS = {
    "add": 0, "subtract": 1, "multiply": 2, "square": 2, "divide": 3, "sqrt": 4, "negative": 5, "absolute": 6,
    "fabs": 6, "positive": 7, "maximum": 8, "minimum": 9, "floor": 11, "ceil": 12, "trunc": 13, "rint": 14, "sign": 15,
}  # fmt: skip
_OF_COMPLEX = {name: _OPERATIONS[name] for name in ("add", "subtract", "multiply", "square", "negative", "positive")}
_OF_COMPLEX |= {"conjugate": 10}
_STEP, _MOST_VALUES, _IN_C = 3, 24, ("float32", "float64", "complex64", "complex128")


def maps_by_numpy(
    device: Device, function: TypedExpr, forms: Sequence[Form], results: Sequence[Form]
) -> ByNumPy | None:
    """Return how NumPy applies a function to whole arrays in C order or in Fortran order, if it does."""
    if not all(map(is_contiguous, (*forms, *results))):
        if not all(map(is_contiguous, map(_transposed, (*forms, *results)))):
            return None
        found = maps_by_numpy(device, function, [*map(_transposed, forms)], [*map(_transposed, results)])
        return None if found is None else found._replace(compute=partial(_on_transposes, found.compute))
    computed = all(function.nodes[k].name not in ("argument", "constant") for k in function.results)
    shapes = {form.shape for form in forms} - {results[0].shape}
    if computed and shapes <= {()} and in_c(device) and (program := _program(function, len(forms))) is not None:
        return ByNumPy(partial(FLOATS.calls.apply, *program), _few_in_c(program[0], results[0].dtype))
    if not is_exact(function):
        return _cast_to_complex(device, function, forms, results)
    whole = not shapes
    shape = None if computed and whole else results[0].shape
    operations = [node for node in function.nodes if node.name not in ("argument", "constant")]
    if (
        len(forms) == len(results) == whole
        and (alone := _copied_or_cast(device, function, forms[0], results[0])) is not None
    ):
        return alone
    floats = any(node.dtype.kind == "f" for node in operations)
    few = _FEW_OF_MANY if floats or len(operations) > _MOST else _FEW
    few = _of_bytes(_BYTES, *forms, *results) if not floats and len(operations) == 1 else few
    if (places := _bounds(function)) is not None:
        return ByNumPy(partial(_clipped, places, results[0].shape), few)
    if computed and shapes <= {()} and len(function.results) == len(operations) == 1:
        if operations[0].name == "where":  # it copies NaN bit for bit
            return ByNumPy(prepared_alone(function, len(forms)), _FEW_CHOSEN)
        if not floats:
            return ByNumPy(prepared_alone(function, len(forms)), few)
    return ByNumPy(partial(_applied, prepared(function), shape, computed), few)


def _transposed(form: Form) -> Form:
    return form._replace(shape=form.shape[::-1], strides=form.strides[::-1])


def _on_transposes(compute: Compute, *arrays: np.ndarray) -> Any:
    found = compute(*[array.T for array in arrays])
    if found is NotImplemented:
        return found
    return tuple([one.T for one in found]) if isinstance(found, tuple) else found.T


def _of_bytes(most: int, *forms: Form) -> Few:
    elements = most // max(form.dtype.itemsize for form in forms)
    return Few(elements, elements)


def _few_in_c(program: bytes, dtype: np.dtype[Any]) -> Few:
    """Return up to how many numbers floats.c computes a map in less time than a kernel."""
    if dtype.kind == "c":
        return _FEW_PAIRS_IN_C[dtype.name]
    return _FEW_IN_C if len(program) > _STEP else _FEW_BY_ONE_STEP[dtype.name]


def _copied_or_cast(device: Device, function: TypedExpr, form: Form, result: Form) -> ByNumPy | None:
    """Return how NumPy copies an array, or casts numbers to a dtype; None for other functions."""
    nodes, given = function.nodes, form.dtype
    node = nodes[function.results[0]]
    if node.name == "argument" and given == result.dtype and given.kind in "iubf":
        return ByNumPy(np.ndarray.copy, _of_bytes(_COPIED_BYTES, result))
    if node.name != "cast" or nodes[node.operands[0]].name != "argument" or given.kind not in "iubf":
        return None
    cast = partial(np.ndarray.astype, dtype=result.dtype)
    if given.kind == result.dtype.kind == "f":
        in_numpy = ByNumPy(partial(_cast_floats, cast), _FEW_FLOATS_CAST)
        return ByNumPy(partial(FLOATS.calls.cast, result.dtype.num), _FEW_CAST_IN_C) if in_c(device) else in_numpy
    if result.dtype == np.float32 and given in (np.int64, np.uint64):
        return ByNumPy(cast if given == np.int64 else partial(_cast_words, cast), _ALL)
    wide = result.dtype.kind == "f" and given.itemsize != _CAST
    return ByNumPy(cast, _FEW_CAST if wide else _of_bytes(_BYTES, form, result))


def _cast_to_complex(
    device: Device, function: TypedExpr, forms: Sequence[Form], results: Sequence[Form]
) -> ByNumPy | None:
    """Return how NumPy makes complex numbers of an array of real ones; None for other functions."""
    nodes, result, given = function.nodes, results[0], forms[0]
    node = nodes[function.results[0]]
    if not len(forms) == len(results) == 1 or given.shape != result.shape:
        return None
    if given.dtype.kind not in "biuf" or given.dtype == np.float16:
        return None
    if node.name != "cast" or node.dtype.kind != "c" or nodes[node.operands[0]].name != "argument":
        return None
    cast: Compute = partial(np.ndarray.astype, dtype=result.dtype)
    if given.dtype.kind == "f":
        cast = partial(FLOATS.calls.cast, result.dtype.num) if in_c(device) else partial(_cast_floats, cast)
    return ByNumPy(cast, _FEW_MADE[result.dtype.name])


def _cast_floats(cast: Compute, x: np.ndarray) -> Any:
    """Return floats in another dtype; NotImplemented with NaN, whose bits may differ."""
    with np.errstate(all="ignore"):  # kernels do not warn either
        found = cast(x)
    return NotImplemented if has_nan(found) else found


def _cast_words(cast: Compute, x: np.ndarray) -> Any:
    """Return uint64 in another dtype; NotImplemented if some do not fit in int64, for which NumPy branches."""
    signed = x.view(np.int64)
    return cast(signed) if np.minimum.reduce(signed, None) >= 0 else NotImplemented


def _bounds(function: TypedExpr) -> tuple[int, int, int] | None:
    """Return the places of integers and of their bounds among the arrays, if a function does no more than clip them."""
    nodes, places = function.nodes, list[int]()
    (result, *others), given = function.results, [node.name for node in function.nodes]
    least = nodes[result]
    if others or least.dtype.kind not in "iu" or least.name != "minimum" or given.count("argument") != len(given) - 2:
        return None
    most, high = least.operands
    if nodes[most].name != "maximum" or nodes[high].name != "argument":
        return None
    for k in (*nodes[most].operands, high):
        if nodes[k].name != "argument" or nodes[k].dtype != least.dtype:
            return None
        places.append(int(nodes[k].value))
    return places[0], places[1], places[2]


def _clipped(places: tuple[int, int, int], shape: tuple[int, ...], *arrays: np.ndarray) -> np.ndarray:
    """Clip integers in one pass; NumPy compares them with a number in several times as long (row by_numpy-clip)."""
    x, low, high = [arrays[place] for place in places]
    found: np.ndarray = x.clip(low, high)
    return found if found.shape == shape else np.array(np.broadcast_to(found, shape))


def _program(function: TypedExpr, arrays: int) -> tuple[bytes, bytes] | None:
    """Return the steps of a function and its constants for floats.c; None if it does more than add and the like.

    Values there are the arrays, then constants, then what the steps give.
    """
    nodes, dtype = function.nodes, function.nodes[function.results[0]].dtype
    used = sorted({k for node in nodes for k in node.operands} | {*function.results})  # not the index of an element
    constants = [k for k in used if nodes[k].name == "constant"]
    operations = _OF_COMPLEX if dtype.kind == "c" else _OPERATIONS
    steps = [k for k in used if nodes[k].name in operations]
    places = {k: int(nodes[k].value) for k in used if nodes[k].name == "argument"}
    if dtype.name not in _IN_C or any(nodes[k].dtype != dtype for k in used):
        return None
    if len(constants) + len(steps) + len(places) < len(used) or max(places.values(), default=0) >= arrays:
        return None
    if not steps or function.results != (steps[-1],) or arrays + len(constants) + len(steps) > _MOST_VALUES:
        return None
    places |= {k: arrays + place for place, k in enumerate([*constants, *steps])}
    program = [(operations[nodes[k].name], *(places[nodes[k].operands[at]] for at in (0, -1))) for k in steps]
    values = np.array([nodes[k].scalar for k in constants], np.complex128 if dtype.kind == "c" else np.float64)
    return bytes(np.array(program, np.uint8)), values.tobytes()


def _applied(
    apply: Callable[..., tuple[Any, ...]], shape: tuple[int, ...] | None, computed: bool, *arrays: np.ndarray
) -> Any:
    """Return results; NotImplemented with NaN, whose bits may differ.

    ``shape`` is given if a result may be smaller, or may be one of the arrays, as it may be unless it is ``computed``.
    """
    results = apply(*arrays)
    if shape is not None:
        own = [computed and result.shape == shape for result in results]
        results = tuple(
            [one if new else np.array(np.broadcast_to(one, shape)) for one, new in zip(results, own, strict=True)]
        )
    for result in results:
        if result.dtype.kind == "f" and has_nan(result):
            return NotImplemented
    return results[0] if len(results) == 1 else results
