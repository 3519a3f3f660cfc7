"""The facts about a call that its kernel is compiled with.

Kernel files are written with macros such as ``MAP(o, j)`` and ``STORE(o, j, value)``. A :class:`KernelSpec` says what
they mean for one call; it names no backend. :mod:`gpuprims.core.codegen` writes it as C; the reference backend
computes from it with NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from gpuprims.expressions import TypedExpr, bind, lift, trace, typed

Dtype = np.dtype[Any]
# A stride along one axis: -1 to 4 as a constant of the compiled text, None for any other.
StrideClass = int | None
# The dtypes that need double precision.
DOUBLES = frozenset({np.dtype(np.float64), np.dtype(np.complex128)})


@dataclass(frozen=True)
class Access:
    """How a kernel reads or writes one operand."""

    dtype: Dtype
    kept: tuple[StrideClass, ...]  # along each kept axis
    reduced: tuple[StrideClass, ...]
    lanes: int = 1  # numbers in an element: more than 1 for short vectors, which are loaded and stored whole
    narrow: bool = False  # indices fit in 32 bits, and the layout has a divider for each axis


@dataclass(frozen=True, eq=False)
class KernelSpec:
    """The meaning of a kernel's macros for one call.

    Kernels that use further macros have a subclass, which adds fields and overrides :meth:`macros`, :meth:`text` and
    :meth:`headers`. Kernels are cached by their specs: two are equal if their class and fields are, bit for bit.

    Parameters
    ----------
    inputs, outputs : tuple of Access
        The operands ``x0``, ``x1``, ... and the results ``y0``, ``y1``, ....
    values : tuple of dtype
        Components of ``value_t``, the type of values between ``MAP`` and ``STORE``.
    map : TypedExpr
        The function of ``MAP``, from one element of each input, all lanes, and the index ``j`` to a value.
    finish : TypedExpr, optional
        The function of ``STORE``, from a value and the number of elements that it was folded from to one element of
        each output, all lanes. Kernels without it store in their own way.
    place : TypedExpr, optional
        The index ``j`` at which ``STORE`` writes each output; a negative one drops the result. By default a result
        stays at its element's index. With it, both functions also take one element of each input. Without it,
        ``finish`` may take them too, those at the result's own place; see :attr:`rereads`.
    vector : int, default 1
        Neighbours along ``j`` that ``MAP_VECTOR`` loads at once. Their memory must be aligned.
    constants : tuple of dtype
        Dtypes of the functions' constants that a launch passes, as 64-bit words after the layout.
    vector_across : int, default 1
        Neighbours along ``o`` that ``MAP_ACROSS`` loads at once. Their memory must be aligned.
    index : tuple of int or None, optional
        Along each reduced axis, the stride of the index that ``map`` takes, if the axes are not in index order.
    """

    inputs: tuple[Access, ...]
    outputs: tuple[Access, ...]
    values: tuple[Dtype, ...]
    map: TypedExpr
    finish: TypedExpr | None = None
    place: TypedExpr | None = None
    vector: int = 1
    constants: tuple[Dtype, ...] = ()
    vector_across: int = 1
    index: tuple[StrideClass, ...] | None = None

    # False keeps compilers from contracting a product and a sum, so that real + - * / and sqrt have NumPy's bits.
    contracted: ClassVar[bool] = True
    maps: ClassVar[bool] = True  # the kernel loads by MAP and stores by STORE; others define macros of their own
    stores_vectors: ClassVar[bool] = True  # it stores VECTOR neighbours at once where it can
    lifts_constants: ClassVar[bool] = True  # calls that differ in constants alone share a kernel
    scratch_pointers: ClassVar[int] = 0  # pointer arguments beside the operands
    exchanges: ClassVar[bool] = False  # work-items exchange values, by the functions of shuffling.h

    @property
    def contracts(self) -> bool:
        """True if compilers may contract a product and a sum."""
        return self.contracted

    @property
    def aliases(self) -> bool:
        """True if an output may lie in the memory of an input."""
        return False

    def macros(self) -> dict[str, int | str]:
        """Return further macros by name; those with parameters name them too."""
        return {}

    def text(self) -> list[str]:
        """Return the C text that follows the macros: types and functions."""
        return []

    def headers(self) -> tuple[Path, ...]:
        """Return the header files that follow the text."""
        return ()

    def kernel_text(self, path: Path) -> str:
        """Return the text of the kernel file."""
        return path.read_text()

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return (type(self), *[_exact(getattr(self, one.name)) for one in fields(self)])

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, KernelSpec) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def lifted(self) -> tuple[Self, np.ndarray]:
        """Return the spec with parameters in place of constants, and the constants as 64-bit words."""
        if not self.lifts_constants:
            return self, np.zeros(0, np.int64)
        (function, finish, place), dtypes, words = lift(self.map, self.finish, self.place)
        if function is None or not dtypes:
            return self, words
        return replace(self, map=function, finish=finish, place=place, constants=dtypes), words

    def bound(self, layout: np.ndarray) -> Self:
        """Return the spec with the constants at the end of a launch's layout."""
        if not self.constants:
            return self
        words = layout[-len(self.constants) :]
        finish, place = (bind(function, words) if function else None for function in (self.finish, self.place))
        return replace(self, map=bind(self.map, words), finish=finish, place=place, constants=())

    @property
    def vector_strides(self) -> tuple[int, ...]:
        """Strides of inputs that ``MAP_VECTOR`` loads as vectors; it loads one element of other inputs."""
        return (1,)

    @property
    def pointers(self) -> int:
        """Number of pointer arguments: one for each operand, plus scratch memory."""
        return len(self.inputs) + len(self.outputs) + self.scratch_pointers

    @property
    def rereads(self) -> bool:
        """True if ``STORE`` reads the elements at a result's own place again, because ``finish`` takes them."""
        return self.place is None and self.finish is not None and self.finish.arity > len(self.values) + 1

    @property
    def functions(self) -> tuple[TypedExpr | None, ...]:
        """The functions that the kernel calls."""
        return self.map, self.finish, self.place

    @property
    def dtypes(self) -> frozenset[Dtype]:
        """Every dtype that the kernel reads or computes in."""
        computed = {dtype for function in self.functions if function for dtype in function.computed_in}
        return frozenset(computed | {access.dtype for access in self.inputs})


def _exact(value: Any) -> Any:
    """Return the key that compares a field: scalars compare by their bits, so NaN equals NaN, and -0.0 is not 0.0."""
    if isinstance(value, tuple) and value and isinstance(value[0], np.generic):
        return tuple(map(_exact, value))
    return (value.dtype, value.tobytes()) if isinstance(value, np.generic) else value


@cache
def unchanged(dtypes: tuple[Dtype, ...]) -> TypedExpr:
    """Return the identity function of elements or values; it ignores an index or a count."""
    same = trace(lambda *values: values[:-1], len(dtypes) + 1)
    return typed(same, (*dtypes, np.dtype(np.int64)))


def value_words(dtypes: Sequence[Dtype]) -> int:
    """Return how many 32-bit words an exchanged value has; each component takes whole words."""
    return sum(max(dtype.itemsize // 4, 1) for dtype in dtypes)


def value_bytes(dtypes: Sequence[Dtype]) -> int:
    """Return the bytes of a value in local memory: the larger of its size as a C struct and as 32-bit words."""
    padded = np.dtype([(f"v{k}", dtype) for k, dtype in enumerate(dtypes)], align=True).itemsize
    return max(padded, 4 * value_words(dtypes))
