"""Find the dtype of every node of an expression by NumPy's promotion rules.

NumPy itself applies them (``ufunc.resolve_dtypes``, ``result_type``), also to Python scalars (NEP 50).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from gpuprims.errors import DtypeError, ExpressionError, NumberOverflowError, quoted, too_large
from gpuprims.expressions.expr import Dtype, Expr, Instruction, encode_constant, evaluate, part
from gpuprims.expressions.functions import COMPARE, PARTS, UFUNCS
from gpuprims.expressions.hints import other_dtype
from gpuprims.expressions.narrow import is_storage

_BOOL, _UINT64, _FLOAT32 = np.dtype(bool), np.dtype(np.uint64), np.dtype(np.float32)


@dataclass(frozen=True)
class Node(Instruction):
    """An instruction with the dtype of its result."""

    dtype: Dtype = field(kw_only=True)


@dataclass(frozen=True)
class TypedExpr:
    """An expression with a dtype for every node, and explicit conversions. Equal ones compile to the same C."""

    nodes: tuple[Node, ...]
    results: tuple[int, ...]  # indices of nodes
    arity: int

    @property
    def dtypes(self) -> tuple[Dtype, ...]:
        """Dtypes of the results."""
        return tuple(self.nodes[k].dtype for k in self.results)

    @property
    def computed_in(self) -> tuple[Dtype, ...]:
        """Dtypes of all nodes, which a device must support."""
        return tuple(node.dtype for node in self.nodes)

    def takes(self, argument: int) -> bool:
        """Return True if a result depends on an argument."""
        used = {k for node in self.nodes for k in node.operands} | set(self.results)
        return any(
            node.name == "argument" and node.value == str(argument) and k in used for k, node in enumerate(self.nodes)
        )

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """Evaluate on NumPy arrays of the arguments' dtypes, as the reference backend does."""
        return evaluate(self.nodes, self.results, arguments)


def typed(expr: Expr, dtypes: Sequence[Dtype], results: Sequence[Dtype] | None = None) -> TypedExpr:
    """Find the dtypes of an expression, given a dtype for each parameter; convert the results to ``results``, if given.

    Storage dtypes such as bfloat16 become float32 where they are read. A float32 that is computed from floats of one
    storage dtype alone is converted back to it, unless the function converts to float32 itself.

    Raises :class:`DtypeError` if NumPy, or this library, has no such function for these dtypes.
    """
    typist = _Typist(dtypes)
    with np.errstate(all="ignore"):  # a constant may become infinite
        for instruction in expr.code:
            typist.values.append(typist.typed(instruction))
        chosen = [typist.settled(typist.values[k]) for k in expr.results]
        if results is None:
            chosen = [typist.convert(node, typist.storage.get(node, typist.nodes[node].dtype)) for node in chosen]
        else:
            chosen = [typist.convert(node, dtype) for node, dtype in zip(chosen, results, strict=True)]
    nodes, chosen = _needed(typist.nodes, chosen)
    return TypedExpr(nodes, tuple(chosen), len(expr.parameters))


def _needed(nodes: Sequence[Node], results: Sequence[int]) -> tuple[tuple[Node, ...], list[int]]:
    """Drop nodes that no result needs, such as the exponent of a square, but no arguments."""
    needed = set(results)
    for k in reversed(range(len(nodes))):
        if k in needed:
            needed.update(nodes[k].operands)
    kept = [k for k, node in enumerate(nodes) if k in needed or node.name == "argument"]
    place = {k: at for at, k in enumerate(kept)}
    left = (replace(nodes[k], operands=tuple(place[operand] for operand in nodes[k].operands)) for k in kept)
    return tuple(left), [place[k] for k in results]


# Comparisons with exchanged sides.
_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


class _Weak(NamedTuple):
    """A Python number, whose dtype depends on the other operands."""

    value: complex


class _Typist:
    """Writes typed nodes. Each instruction of the source becomes the index of a node or a weak number."""

    def __init__(self, dtypes: Sequence[Dtype]) -> None:
        self.nodes: list[Node] = []
        self.values: list[int | _Weak] = []
        self._dtypes = dtypes
        self._known: dict[Node, int] = {}
        self.storage: dict[int, Dtype] = {}  # of float32 nodes, the dtype that they are stored in

    def typed(self, instruction: Instruction) -> int | _Weak:
        """Return the value of an instruction of the source."""
        operands = [self.values[k] for k in instruction.operands]
        match instruction.name:
            case "argument":
                return self._node("argument", (), self._dtypes[int(instruction.value)], instruction.value)
            case "constant":
                scalar = instruction.scalar
                return self._constant(scalar) if isinstance(scalar, np.generic) else _Weak(scalar)
            case "cast":
                return self._cast(self._widened(operands[0]), np.dtype(instruction.value))
            case "bits_of" | "float_of" as name:
                node = self.settled(operands[0])
                kind, size = "u" if name == "bits_of" else "f", self.nodes[node].dtype.itemsize
                return self._node(name, (node,), np.dtype(f"{kind}{size}"))
            case "complex_of":
                parts = tuple(map(self.settled, operands))
                return self._node("complex_of", parts, np.dtype(f"c{2 * self.nodes[parts[0]].dtype.itemsize}"))
            case name if name in PARTS:
                return self._part(name, self.settled(self._widened(operands[0])))
            case name:
                return self._apply(name, [self._widened(operand) for operand in operands])

    def settled(self, value: int | _Weak) -> int:
        """Return the node of a value. A weak number gets NumPy's default dtype."""
        if not isinstance(value, _Weak):
            return value
        scalar = np.asarray(value.value)[()]
        if not isinstance(scalar, np.generic):  # a Python object to NumPy
            rule = "constant in an expression: an integer of at most 64 bits"
            raise ExpressionError(f"{rule}; got {quoted(value.value)}")
        return self._constant(scalar)

    def convert(self, node: int, dtype: Dtype) -> int:
        """Return a node of this dtype."""
        source = self.nodes[node].dtype
        if source == dtype:
            return node
        if source.kind == "c" and dtype.kind not in "bc":
            rule = "conversion of a complex number: a complex dtype, or real(x) or abs(x) first"
            raise DtypeError(f"{rule}; got {source} to {dtype}")
        return self._node("cast", (node,), dtype, dtype.name)

    def _cast(self, value: int | _Weak, dtype: Dtype) -> int:
        """Return a node that the function itself converts, whose result stays of this dtype."""
        node = self.settled(value)
        return self._node("cast", (node,), dtype, dtype.name) if node in self.storage else self.convert(node, dtype)

    def _widened(self, value: int | _Weak) -> int | _Weak:
        """Return a value to compute with: float32 for one of a storage dtype."""
        if isinstance(value, _Weak) or not is_storage(dtype := self.nodes[value].dtype):
            return value
        wide = self.convert(value, _FLOAT32)
        self.storage[wide] = dtype
        return wide

    def _keep_storage(self, node: int, operands: Sequence[int | _Weak]) -> int:
        """Note the storage dtype of a result, if all floats among the operands are of this one."""
        given = [operand for operand in operands if not isinstance(operand, _Weak)]
        floats = {self.storage.get(one) for one in given if one in self.storage or self.nodes[one].dtype.kind in "fc"}
        dtype = floats.pop() if len(floats) == 1 else None
        if dtype is not None and self.nodes[node].dtype == _FLOAT32:
            self.storage[node] = dtype
        return node

    def _node(self, name: str, operands: tuple[int, ...], dtype: Dtype, value: str = "") -> int:
        node = Node(name, operands, value, dtype=dtype)
        index = self._known.setdefault(node, len(self.nodes))
        if index == len(self.nodes):
            self.nodes.append(node)
        return index

    def _constant(self, scalar: Any) -> int:
        return self._node("constant", (), scalar.dtype, encode_constant(scalar).value)

    def _part(self, name: str, node: int) -> int:
        dtype = self.nodes[node].dtype
        if name != "angle":
            return self._node(name, (node,), part(dtype))
        if dtype.kind == "c":
            return self._apply("arctan2", [self._part("imag", node), self._part("real", node)])
        return self._apply("arctan2", [_Weak(0), node])  # as in NumPy

    def _apply(self, name: str, operands: list[int | _Weak]) -> int:
        return self._keep_storage(self._applied(name, operands), operands)

    def _applied(self, name: str, operands: list[int | _Weak]) -> int:
        if name == "power" and self._squares_bool(*operands):
            return self._apply("square", operands[:1])
        if name in COMPARE:
            operands = [self._settled_beside(*operands), self._settled_beside(*reversed(operands))]
        wanted, result = self._resolve(name, operands)
        if {dtype.kind for dtype in wanted} == {"i", "u"}:
            return self._compare_signs(name, [self.settled(operand) for operand in operands])
        nodes = [self._as(operand, dtype) for operand, dtype in zip(operands, wanted, strict=True)]
        if name == "power":
            self._check_exponent(self.nodes[nodes[1]])
            if (shorter := self._shorter_power(nodes[0], operands[1], result)) is not None:
                return shorter
        return self._node(name, tuple(nodes), result)

    def _resolve(self, name: str, operands: Sequence[int | _Weak]) -> tuple[list[Dtype], Dtype]:
        """Return the dtypes of a function's operands and of its result, as NumPy resolves them."""
        if name == "where":
            branches = [v.value if isinstance(v, _Weak) else self.nodes[v].dtype for v in operands[1:]]
            result = np.result_type(*branches)
            return [_BOOL, result, result], result
        given: list[Any] = [type(v.value) if isinstance(v, _Weak) else self.nodes[v].dtype for v in operands]
        names = " and ".join(d.name if isinstance(d, np.dtype) else f"a Python {d.__name__}" for d in given)
        try:
            resolved = UFUNCS[name].numpy.resolve_dtypes((*given, None))  # type: ignore[attr-defined]  # a ufunc's method
        except TypeError as error:
            raise DtypeError(f"{name}: dtypes that NumPy's function takes; got {names}{other_dtype(name)}") from error
        # One dtype for each width: int64, not longlong.
        *wanted, result = (np.dtype(f"{d.kind}{d.itemsize}") if d.kind in "iufc" else d for d in resolved)
        if wanted[0].kind not in UFUNCS[name].templates:
            raise DtypeError(f"{name}: a kind of dtype that it has a kernel for; got {names}{other_dtype(name)}")
        return wanted, result

    def _settled_beside(self, value: int | _Weak, other: int | _Weak) -> int | _Weak:
        """Keep comparisons exact, as NumPy does: an integer that the other dtype cannot hold gets 64 bits."""
        if not (isinstance(value, _Weak) and isinstance(value.value, int)) or isinstance(other, _Weak):
            return value
        dtype = self.nodes[other].dtype
        if dtype.kind not in "iu" or np.iinfo(dtype).min <= value.value <= np.iinfo(dtype).max:
            return value
        try:
            return self._constant(np.int64(value.value) if value.value < 2**63 else np.uint64(value.value))
        except OverflowError as error:
            raise DtypeError(f"comparison: an integer of at most 64 bits; got {quoted(value.value)}") from error

    def _compare_signs(self, name: str, operands: Sequence[int]) -> int:
        """Compare a signed integer with an unsigned one: negative ones are less, others are compared as unsigned."""
        left, right = operands
        if self.nodes[left].dtype.kind == "u":
            name, left, right = _MIRRORED.get(name, name), right, left
        negative = self._node("less", (left, self._constant(self.nodes[left].dtype.type(0))), _BOOL)
        compared = self._node(name, (self.convert(left, _UINT64), self.convert(right, _UINT64)), _BOOL)
        if name in ("less", "less_equal", "not_equal"):
            return self._node("logical_or", (negative, compared), _BOOL)
        return self._node("logical_and", (self._node("logical_not", (negative,), _BOOL), compared), _BOOL)

    def _as(self, value: int | _Weak, dtype: Dtype) -> int:
        if not isinstance(value, _Weak):
            return self.convert(value, dtype)
        try:
            return self._constant(dtype.type(value.value))
        except OverflowError as error:
            rule = f"constant: a number that {dtype} holds"
            raise NumberOverflowError(f"{rule}; got {quoted(value.value)} ({too_large(value.value, error)})") from error

    # Powers. NumPy computes some as squares, reciprocals or roots, which round once. A device's ``pow`` is off by a few
    # units in the last place, and slower than a product.

    def _squares_bool(self, base: int | _Weak, exponent: int | _Weak) -> bool:
        """Return True for a bool to the power of a Python 2, which NumPy squares in int8."""
        two = isinstance(exponent, _Weak) and type(exponent.value) is int and exponent.value == 2
        return two and not isinstance(base, _Weak) and self.nodes[base].dtype == _BOOL

    @staticmethod
    def _check_exponent(exponent: Node) -> None:
        """Refuse integer exponents that may be negative: NumPy raises for them, and a kernel cannot."""
        if exponent.dtype.kind == "i" and (exponent.name != "constant" or exponent.scalar < 0):
            got = f"the exponent {exponent.scalar}" if exponent.name == "constant" else f"one of {exponent.dtype}"
            rule = "power of integers: an unsigned or a constant exponent >= 0"
            raise DtypeError(f"{rule}; got {got} (convert the base, such as float64(x))")

    def _shorter_power(self, base: int, exponent: int | _Weak, dtype: Dtype) -> int | None:
        """Return the node of a power by a constant without ``pow``, or None if there is none."""
        if isinstance(exponent, _Weak):
            scalar: Any = exponent.value
        elif self.nodes[exponent].name == "constant":
            scalar = self.nodes[exponent].scalar
        else:
            return None
        if scalar == 0:
            return self._constant(dtype.type(1))
        name = _COMPLEX.get((type(scalar), scalar)) if dtype.kind == "c" else _REAL.get(scalar)
        if name is None or (dtype.kind in "iu" and scalar not in (1, 2)):
            return None
        return base if name == "positive" else self._node(name, (base,), dtype)


# Functions of real numbers, by exponent. NumPy calls pow for 3 and 4; products nearly always give the same results.
_REAL = {1: "positive", 2: "square", -1: "reciprocal", 0.5: "sqrt", 3: "cube", 4: "fourth"}
# Functions of complex numbers, for Python exponents only: NumPy converts others to complex and multiplies differently.
_COMPLEX = {(int, 2): "square", (int, -1): "reciprocal", (float, 0.5): "sqrt"}
