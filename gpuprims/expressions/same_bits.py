"""Expressions with the same bits on each device: portable functions instead of compilers' and NumPy's.

:mod:`.portable` has the functions. Kernels get them as C, in which products and sums are not contracted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from inspect import getdoc, getmodule
from textwrap import wrap

import numpy as np

from gpuprims.errors import NoVariantError
from gpuprims.expressions.emit import c_type, emit_function
from gpuprims.expressions.expr import Dtype
from gpuprims.expressions.functions import COMPARE, LOGICAL, PORTABLE
from gpuprims.expressions.narrow import is_storage, narrow, register
from gpuprims.expressions.portable import CHOICES, DEFINITIONS
from gpuprims.expressions.portable.formats import FORMATS
from gpuprims.expressions.trace import trace
from gpuprims.expressions.typing import Node, TypedExpr, typed

# What complex numbers are computed by that rounds each part once, or not at all.
OF_COMPLEX = frozenset(
    (
        *("argument", "constant", "parameter", "cast", "add", "subtract", "negative", "positive", "conjugate"),
        *(
            "real",
            "imag",
            "complex_of",
            "where",
            "isnan",
            "isinf",
            "isfinite",
            "logical_xor",
            "logical_not",
            *LOGICAL,
            *COMPARE,
        ),
    )
)

# What PoCL computes for one element at a time, in more time than portable functions (row pocl-functions of maps).
_SCALAR = frozenset(DEFINITIONS).difference((*CHOICES, "exp", "hypot", "cube", "fourth"))
_SCALAR_SINGLE, _SINGLE = _SCALAR - {"tanh"}, 4  # of at most 4 bytes


def as_portable(
    function: TypedExpr, *, settled: bool = True, settles_copies: bool = False, chooses: bool = True
) -> TypedExpr:
    """Return a function with the same bits on each device, those of NaN among them.

    Folds settle the NaN of their results, so their functions need not be ``settled``. Results that are an argument stay
    as they are, unless this one is computed, and ``settles_copies`` is True. With ``chooses=False``, for operators of
    folds, maxima and minima stay as they are. Raises :class:`NoVariantError` for functions of complex numbers that have
    no portable form.
    """
    nodes = list[Node]()
    for node in function.nodes:
        operands = [function.nodes[k].dtype for k in node.operands]
        _refuse_complex(node, operands)
        known = node.name in DEFINITIONS and (chooses or node.name not in CHOICES)
        named = known and operands[0].kind == "f"
        nodes.append(replace(node, name=PORTABLE + node.name) if named else node)
    results = [_settled(nodes, k, copies=settles_copies) if settled else k for k in function.results]
    return replace(function, nodes=tuple(nodes), results=tuple(results))


def in_vectors(function: TypedExpr) -> TypedExpr:
    """Return a function by portable functions, where a library's take one element at a time.

    Compilers for CPUs make vectors of portable functions. Those that choose, and products, are vectors already.
    """
    nodes = list[Node]()
    for node in function.nodes:
        scalar = node.dtype.kind == "f" and node.name in (_SCALAR if node.dtype.itemsize > _SINGLE else _SCALAR_SINGLE)
        nodes.append(replace(node, name=PORTABLE + node.name) if scalar else node)
    return replace(function, nodes=tuple(nodes))


def _settled(nodes: list[Node], k: int, *, copies: bool) -> int:
    """Return the node of a result in which each NaN has the same bits."""
    node = nodes[k]
    if is_storage(node.dtype) and node.name == "cast":  # from float32, whose NaN is settled
        nodes.append(replace(node, operands=(_settled(nodes, node.operands[0], copies=copies),)))
    elif (
        node.dtype.kind != "f"
        or node.name == "constant"
        or (node.name == "argument" and not (copies or narrow(node.dtype)))
    ):
        return k  # a copy, but registers hold no float16
    else:
        nodes.append(Node(PORTABLE + "plain", (k,), dtype=node.dtype))
    return len(nodes) - 1


def _refuse_complex(node: Node, operands: Sequence[Dtype]) -> None:
    if node.name not in OF_COMPLEX and any(dtype.kind == "c" for dtype in (node.dtype, *operands)):
        raise NoVariantError(
            f"{node.name} with the same bits on each device: real numbers; got {operands[0]}"
            " (compute with the real and the imaginary part)"
        )


def portable_names(functions: Iterable[TypedExpr | None]) -> list[tuple[str, str]]:
    """Return the portable functions that others call, by name and format."""
    found = {
        (node.name.removeprefix(PORTABLE), register(function.nodes[node.operands[0]].dtype).name)
        for function in functions
        if function
        for node in function.nodes
        if node.name.startswith(PORTABLE)
    }
    return sorted(found)


def portable_text(names: Iterable[tuple[str, str]]) -> list[str]:
    """Write portable functions as C, each with a paragraph on how it computes."""
    lines, told = list[str](), set[str]()
    for name, form in names:
        about = getdoc(getmodule(DEFINITIONS[name].text)) or ""
        if about not in told:
            lines += _comment(about)
            told.add(about)
        lines += [*_comment(getdoc(DEFINITIONS[name].text) or ""), _definition(name, form)]
    return lines


def _comment(text: str) -> list[str]:
    return ["/* " + "\n * ".join(wrap(" ".join(text.split()), 110)) + " */"]


@cache
def _definition(name: str, form: str) -> str:
    found, dtype = DEFINITIONS[name], np.dtype(form)
    arguments = ("x", "y")[: found.arity]
    function = typed(trace(found.of(FORMATS[form]), found.arity), [dtype] * found.arity)
    (result,) = function.dtypes
    parameters = ", ".join(f"const {c_type(dtype)} {argument}" for argument in arguments)
    head = f"DEVICE {c_type(result)} gp_{PORTABLE}{name}_{c_type(dtype)}({parameters})"
    return emit_function(head, function, arguments, "return {};".format)
