"""What a kernel file is compiled with: the types, functions and operand places that its macros stand for.

A kernel says ``MAP(o, j)``, ``OP(a, b)``, ``IDENTITY``, ``STORE(o, j, value)``; :class:`Definitions` holds what they
mean for one call, free of any backend. :mod:`gpuprims.core.codegen` writes them as C; the reference backend reads the
same record and computes with NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gpuprims.expressions import TypedExpr, bind, lift

Dtype = np.dtype[Any]
# The step of an operand along one axis, as far as the compiler needs to know it: 0, 1, or None for any other.
StepClass = int | None
# The dtypes that need double precision.
DOUBLES = frozenset({np.dtype(np.float64), np.dtype(np.complex128)})


@dataclass(frozen=True)
class Access:
    """How a kernel reads or writes one operand.

    Its stored dtype, its step along each kept and each reduced axis, and how many numbers are an element of it: 1, or
    the lanes of a short vector that is moved whole.
    """

    dtype: Dtype
    kept: tuple[StepClass, ...]
    reduced: tuple[StepClass, ...]
    lanes: int = 1


Sums = Literal["counts", "integers", "peaks", "limbs", "floats"]
# Of a histogram's table: 64-bit words before the thresholds.
TABLE_HEADER = 8
# Histograms that a work-item of a CPU counts in by turns, at most.
CPU_REPLICAS = 8


@dataclass(frozen=True)
class Binning:
    """How a histogram finds an element's bin, and what its bins add up.

    Parameters
    ----------
    kind : {"direct", "even", "edges"}
        Whether elements are numbers of bins, or lie between thresholds that are evenly spaced, up to rounding, or not.
    sums : {"counts", "integers", "peaks", "limbs", "floats"}
        Elements, integer weights, or float weights: the exponent of the largest, then all cut into integers, whose sums
        are the same in whatever order; or as they are.
    dtype, total : dtype
        Of one sum of a group, and of one in global memory.
    near : bool, default False
        Whether the guide to thresholds is in local memory.
    fused : bool, default True
        Whether a product and a sum are rounded together, which GPUs do as fast as either.
    merged : bool, default False
        Whether groups add their sums to one histogram, by atomics, and do not leave one each.
    """

    kind: Literal["direct", "even", "edges"]
    sums: Sums
    dtype: Dtype
    total: Dtype
    near: bool = False
    fused: bool = True
    merged: bool = False

    @property
    def planes(self) -> int:
        """Sums of a bin."""
        return 3 if self.sums == "limbs" else 1


Mode = Literal["nearest", "reflect", "mirror", "wrap", "constant"]
# How a variant holds the neighbours of a stencil.
Window = Literal["listed", "ring", "strip", "tile"]


def bits_of(values: Sequence[Any]) -> tuple[bytes, ...]:
    """Return what scalars are compared by: NaN is itself, and -0.0 is not 0.0."""
    return tuple(np.asarray(value).tobytes() for value in values)


def reach_of(offsets: Sequence[int]) -> tuple[int, int]:
    """Return the least and the greatest of some offsets and of the element itself."""
    return min(0, *offsets), max(0, *offsets)


def columns_of(offsets: Sequence[int], times: int) -> tuple[int, int]:
    """Return the least and the greatest column; of several times alike, for results reflected at the end of a row."""
    low, high = reach_of(offsets)
    return (low, high) if times == 1 else (-max(-low, high), max(-low, high))


@dataclass(frozen=True)
class Stencil:
    """What a stencil's function takes, and how a kernel holds it.

    Parameters
    ----------
    offsets : tuple of (int, int, int)
        Where each argument of the function is, counted from the element along the planes, rows and columns. Where the
        function is ``across``, of the arguments of the map, which are its values.
    mode : {"nearest", "reflect", "mirror", "wrap", "constant"}
        What lies beyond the borders, as SciPy has it.
    beyond : scalar
        What lies there in the mode "constant", of the elements' dtype.
    channels : int
        Elements of a pixel, side by side, in kernels that walk along lines.
    across : TypedExpr or None
        Of a stencil in two steps, the first: along a row.
    columns : tuple of int
        Where each of its arguments is.
    window : {"listed", "ring", "strip", "tile", "table"}
        Whether neighbours are in an array of their own, among rows in a ring or in a strip that are kept, in local
        memory, or taken one by one with a weight from memory.
    vector_local, vector_beside, vector_out : int
        Elements of a row in local memory that are moved at once, those beside one's own that are, and results that are
        written at once.
    times : int
        How often it is applied in one launch.
    paired : (TypedExpr, TypedExpr or None) or None
        The function, and ``across``, of bytes in the halves of a uint32, where a kernel computes two at once.
    """

    offsets: tuple[tuple[int, int, int], ...]
    mode: Mode
    beyond: Any = field(compare=False)
    channels: int = 1
    across: TypedExpr | None = None
    columns: tuple[int, ...] = ()
    window: Window | Literal["table"] = "listed"
    vector_local: int = 1
    vector_beside: int = 1
    vector_out: int = 1
    times: int = 1
    paired: tuple[TypedExpr, TypedExpr | None] | None = None
    _bits: tuple[bytes, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bits", bits_of([self.beyond]))

    def reach(self, axis: int) -> tuple[int, int]:
        """Return the least and the greatest offset along an axis, planes, rows or columns, of an element and others."""
        if axis < 2:
            return reach_of([offset[axis] for offset in self.offsets])
        return columns_of(self.columns or [offset[2] for offset in self.offsets], self.times)


@dataclass(frozen=True)
class Logistic:
    """The samples of a logistic regression, and how a kernel holds them.

    Parameters
    ----------
    features : int
        Of a row.
    intercept : bool
        Whether the last weight is one, of a feature that is 1 in every row and stored in none.
    weighted : bool
        Whether each row has a weight of its own.
    lanes, rows : int
        Neighbouring work-items that share a row, and rows that are held at once.
    judged : int
        Rows whose loss and error are computed at once, in vectors of OpenCL's.
    gives : {"gradient", "batch", "single"}
        Whether results are the loss and its gradient, or weights that are moved by all rows at once, or by single ones.
    lock_free : bool
        Of single ones, whether all groups move weights at the same time, by atomic additions.
    """

    features: int
    intercept: bool
    weighted: bool
    lanes: int = 1
    rows: int = 1
    judged: int = 1
    gives: Literal["gradient", "batch", "single"] = "gradient"
    lock_free: bool = False

    @property
    def columns(self) -> int:
        """The features, and perhaps the intercept's."""
        return self.features + self.intercept

    @property
    def sums(self) -> int:
        """Sums over the rows: one for each feature, the intercept's, and the loss."""
        return self.features + 2


@dataclass(frozen=True)
class Sparse:
    """The product of a sparse matrix and a dense one, and how a kernel holds it.

    Parameters
    ----------
    columns : int
        Of the dense matrix, and of the product.
    lanes : int
        Neighbouring work-items that share a row.
    held : int
        Columns that a work-item sums at once.
    side : int
        Columns that it sums in one vector of OpenCL's.
    """

    columns: int
    lanes: int = 1
    held: int = 1
    side: int = 1


@dataclass(frozen=True)
class Definitions:
    """The meaning of a kernel's macros for one call.

    Parameters
    ----------
    inputs : tuple of Access
        The operands ``x0``, ``x1``, ...
    outputs : tuple of Access
        The results ``y0``, ``y1``, ...; a reduce writes them at the first reduced index.
    values : tuple of dtype
        Components of ``value_t``, what ``MAP`` gives, ``OP`` folds and ``STORE`` takes.
    map : TypedExpr
        From one element of each input, all its lanes, and its index ``j``, to the values.
    finish : TypedExpr or None
        From the values and the number of elements folded to the outputs' elements, all their lanes; None for
        histograms, which store sums of their own.
    op : TypedExpr or None
        From two values, all components of the first before those of the second, to one.
    identity : tuple of scalar
        The identity's components, NumPy scalars of the values' dtypes.
    commutative : bool
        Whether ``OP`` may fold elements out of their order.
    better : TypedExpr or None
        Of an ``OP`` that gives the better of two values, and where neither is, the one that comes first: from the first
        components of both, whether the first value is better. What is better than itself is beaten by nothing.
    vector : int
        Elements that ``MAP_VECTOR`` reads at once: neighbours along ``j``, aligned in memory. 1 where they may not be.
    inclusive : bool or None
        Of a scan, whether a result counts the element at its own place; None for what is no scan.
    place : TypedExpr or None
        To the index ``j`` at which each output is written, negative for nowhere; by default where the element is. It
        and ``finish`` then take the element of each input after the number of elements.
    packed : bool
        Whether places of the first output rise by one from each that is written to the next, and the value is the
        first place that is not below it: a group can then gather its elements and write them side by side.
    constants : tuple of dtype
        Dtypes of the constants of ``map``, ``finish`` and ``place``, passed as 64-bit words after the layout.
    segmented : bool
        Whether an output is of one of many segments of the elements, and the last input says where each begins.
    binning : Binning or None
        Of a histogram, whose values are a key and perhaps a weight.
    stencil : Stencil or None
        Of a stencil, whose map takes several elements of the first input.
    logistic : Logistic or None
        Of a logistic gradient, whose map takes a row's score, label and weight, and gives its loss and error; of steps
        by single samples a score, and gives its sigmoid.
    sparse : Sparse or None
        Of a product with a sparse matrix, whose map takes an element of each matrix, and gives their product.
    contracted : bool
        True if the compiler may round a product and the next sum once, which is faster where arithmetic is the bound.
        False makes real ``+ - * /`` and ``sqrt`` NumPy's bit for bit.
    """

    inputs: tuple[Access, ...]
    outputs: tuple[Access, ...]
    values: tuple[Dtype, ...]
    map: TypedExpr
    finish: TypedExpr | None = None
    op: TypedExpr | None = None
    identity: tuple[Any, ...] = field(default=(), compare=False)
    commutative: bool = True
    vector: int = 1
    inclusive: bool | None = None
    place: TypedExpr | None = None
    packed: bool = False
    binning: Binning | None = None
    stencil: Stencil | None = None
    logistic: Logistic | None = None
    sparse: Sparse | None = None
    better: TypedExpr | None = None
    segmented: bool = False
    contracted: bool = True
    constants: tuple[Dtype, ...] = ()
    _bits: tuple[bytes, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bits", bits_of(self.identity))

    @cached_property
    def _hash(self) -> int:
        expressions = self.map, self.finish, self.op, self.place, self.better
        way = self.commutative, self.vector, self.inclusive, self.packed, self.segmented, self.contracted
        of = self.binning, self.stencil, self.logistic, self.sparse
        return hash((self.inputs, self.outputs, *expressions, *way, *of))

    def __hash__(self) -> int:  # kernels are looked up by their definitions, so it is computed once
        return self._hash

    def lifted(self) -> tuple[Definitions, np.ndarray]:
        """Return the definitions with parameters for constants, and those constants as 64-bit words.

        So calls that differ only in constants share a kernel. Operators keep their constants, and so do stencils,
        because compilers optimise known weights. Logistic and sparse maps have no constants of the caller.
        """
        if self.stencil or self.logistic or self.sparse:
            return self, np.zeros(0, np.int64)
        (function, finish, place), dtypes, words = lift(self.map, self.finish, self.place)
        if function is None or not dtypes:
            return self, words
        return replace(self, map=function, finish=finish, place=place, constants=dtypes), words

    def bound(self, layout: np.ndarray) -> Definitions:
        """Return the definitions with the constants that a launch passes."""
        if not self.constants:
            return self
        words = layout[-len(self.constants) :]
        finish, place = (bind(function, words) if function else None for function in (self.finish, self.place))
        return replace(self, map=bind(self.map, words), finish=finish, place=place, constants=())

    @property
    def pointers(self) -> int:
        """How many memories a launch is given: the operands' and a few more, of a fold two, of a scan one."""
        if self.binning is not None:
            return len(self.inputs) + 2 + (self.binning.sums == "limbs")
        folds = self.op is not None or (self.logistic is not None and self.logistic.gives != "batch")
        scratch = 0 if not folds else 2 if self.inclusive is None else 1
        return len(self.inputs) + len(self.outputs) + scratch

    @property
    def dtypes(self) -> frozenset[Dtype]:
        """Every dtype that is read or computed in."""
        expressions = [e for e in (self.map, self.finish, self.op, self.place) if e is not None]
        steps = {step.dtype for expression in expressions for step in expression.steps}
        sums = {self.binning.dtype} if self.binning else set()
        return frozenset(steps | sums | {access.dtype for access in self.inputs})

    @property
    def uses_float64(self) -> bool:
        """Whether any step needs double precision."""
        return not self.dtypes.isdisjoint(DOUBLES)


def value_words(dtypes: Sequence[Dtype]) -> int:
    """Return how many 32-bit words a value takes when groups and warps pass it on: each component whole ones."""
    return sum(max(dtype.itemsize // 4, 1) for dtype in dtypes)


def value_bytes(dtypes: Sequence[Dtype]) -> int:
    """Return the bytes of a value in local memory: with C's padding, or as 32-bit words if that is more."""
    padded = np.dtype([(f"v{k}", dtype) for k, dtype in enumerate(dtypes)], align=True).itemsize
    return max(padded, 4 * value_words(dtypes))
