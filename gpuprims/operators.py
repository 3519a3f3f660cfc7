"""Op: what a reduction folds with, and the operators that are known by name.

An operator folds *values*, which have one component or several. ``prepare`` makes a value of an element, ``finish``
makes the result of the folded value: argmax is a fold of (element, index) pairs, and mean a sum that is divided at the
end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.errors import ArgumentError, DtypeError, ExpressionError, UnknownOperatorError
from gpuprims.expressions import Expr, TypedExpr, computable, expression, trace, typed

Dtype = np.dtype[Any]
Dtypes = tuple[Dtype, ...]
# From the dtypes of the elements and the caller's dtype= to the dtypes of the values and of the results.
DtypeRule = Callable[[Dtypes, Dtype | None], tuple[Dtypes, Dtypes]]

INT64, FLOAT32, FLOAT64, BOOL = (np.dtype(name) for name in ("int64", "float32", "float64", "bool"))


class Op:
    """An associative operator with an identity.

    Parameters
    ----------
    fn : callable or str
        ``fn(a, b)`` of two values; for values of several components, of two tuples, giving a tuple. A string takes the
        components one by one, in order of first appearance.
    identity : scalar, tuple or callable
        The value that changes nothing, ``fn(identity, a) == a``; a tuple for several components; a callable gets the
        dtypes of the components and returns it.
    commutative : bool, default False
        Whether ``fn(a, b) == fn(b, a)``: kernels then fold in whatever order is fastest, else in order.
    name : str, optional
        For messages.
    components : int, optional
        Components of a value, where ``identity`` is a callable.
    prepare : callable, optional
        From an element and its index along the reduced axes to a value; by default the elements are the components.
    finish : callable, optional
        From the folded components and the number of elements to the result; by default the value itself.
    dtypes : callable, optional
        From the dtypes of the elements and the caller's ``dtype`` to the dtypes of the components and of the results;
        by default the components keep the dtype that ``fn`` gives them.
    of_nothing : bool, default True
        Whether the fold of no elements is the identity; an error otherwise.

    Notes
    -----
    Associativity cannot be seen from the function and is taken on trust: ``fn(fn(a, b), c) == fn(a, fn(b, c))``.

    Examples
    --------
    >>> import gpuprims
    >>> xor = gpuprims.Op(lambda a, b: a ^ b, 0, commutative=True)
    >>> int(gpuprims.reduce([1, 2, 4, 4], op=xor, device="reference"))
    3

    The affine maps ``x -> a*x + b`` under composition, which do not commute:

    >>> affine = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1, 0))
    >>> [int(v) for v in gpuprims.reduce([2, 3], [1, 5], op=affine, device="reference")]
    [6, 8]
    """

    def __init__(
        self,
        fn: Callable[..., Any] | str,
        identity: Any,
        *,
        commutative: bool = False,
        name: str = "user operator",
        components: int | None = None,
        prepare: Callable[..., Any] | None = None,
        finish: Callable[..., Any] | None = None,
        dtypes: DtypeRule | None = None,
        of_nothing: bool = True,
    ) -> None:
        self.name = name
        self.commutative = commutative
        self.finish = finish
        self.prepare = prepare
        self.of_nothing = of_nothing
        self.components = components or (len(identity) if isinstance(identity, tuple) else 1)
        self.elements = self.components if prepare is None else 1
        self._identity = identity
        self._dtypes = dtypes or self._kept_dtypes
        self.fold = self._flat(fn, isinstance(identity, tuple) or self.components > 1)

    def _flat(self, fn: Callable[..., Any] | str, tuples: bool) -> Expr:
        """Return the fold as a function of all components of both values, one after the other."""
        n = self.components
        flat = trace(lambda *both: fn(both[:n], both[n:]), 2 * n) if tuples and callable(fn) else expression(fn, 2 * n)
        if len(flat.parameters) != 2 * n:
            got = ", ".join(flat.parameters)
            raise ExpressionError(f"Op {self.name!r}: a function of two values of {n} component(s); got one of ({got})")
        if len(flat.results) != n:
            raise ArgumentError(f"Op {self.name!r}: {n} component(s), as the identity has; got {len(flat.results)}")
        return flat

    def identity(self, dtypes: Dtypes) -> tuple[Any, ...]:
        """Return the identity's components, as scalars of these dtypes."""
        given = self._identity(dtypes) if callable(self._identity) else self._identity
        components = given if isinstance(given, tuple) else (given,)
        names = ", ".join(dtype.name for dtype in dtypes)
        message = f"Op {self.name!r}: an identity that ({names}) can hold; got {given!r}"
        try:
            held = tuple(dtype.type(value) for dtype, value in zip(dtypes, components, strict=True))
        except (OverflowError, ValueError, TypeError) as error:
            raise DtypeError(message) from error
        exact = all(d.kind == "f" or scalar == value for d, scalar, value in zip(dtypes, held, components, strict=True))
        if not exact:  # floats round, as constants everywhere do
            raise DtypeError(message)
        return held

    def value_dtypes(self, elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
        """Return the dtypes of the components and of the results, for elements of these dtypes."""
        return self._dtypes(elements, dtype)

    def _kept_dtypes(self, elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
        """Fold in the dtype that the function itself settles on when its result is fed back."""
        values = tuple(dtype or element for element in elements)
        for _ in range(3):
            results = typed(self.fold, values * 2).dtypes
            if results == values or dtype is not None:
                return tuple(_register(value) for value in values), values
            values = results
        names = ", ".join(value.name for value in values)
        raise DtypeError(f"Op {self.name!r}: a function whose result has its operands' dtype; got a growing ({names})")

    def __repr__(self) -> str:
        return f"Op({self.name!r}, components={self.components}, commutative={self.commutative})"


def _register(dtype: Dtype) -> Dtype:
    """Accumulate float16 in float32."""
    return FLOAT32 if dtype == np.float16 else dtype


def _widening(ufunc: np.ufunc) -> DtypeRule:
    """As NumPy's sum and prod: small integers and bools grow to 64 bits."""

    def rule(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
        result = dtype or ufunc.reduce(np.empty(0, elements[0])).dtype
        return (_register(result),), (result,)

    return rule


def _averaging(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
    """As NumPy's mean: integers are averaged in float64."""
    result = dtype or (elements[0] if elements[0].kind == "f" else FLOAT64)
    if result.kind != "f":
        raise DtypeError(f"mean: a floating dtype to average in; got dtype={result}")
    return (_register(result),), (result,)


def _keeping(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
    """As NumPy's min and max: the result has the elements' dtype."""
    result = dtype or elements[0]
    return (_register(result),), (result,)


def _deciding(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
    """As NumPy's any and all: bool, whatever the elements."""
    if dtype is not None and dtype != BOOL:  # to NumPy, None equals float64
        raise DtypeError(f"any, all: a result of dtype bool; got dtype={dtype}")
    return (BOOL,), (BOOL,)


def _locating(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
    """As NumPy's argmin and argmax: an index."""
    if dtype is not None and dtype != INT64:
        raise DtypeError(f"argmin, argmax: a result of dtype int64; got dtype={dtype}")
    return (_register(elements[0]), INT64), (INT64,)


def _lowest(dtypes: Dtypes) -> tuple[Any, ...]:
    """Return what every maximum is at least, and the last index of all."""
    return _extreme(dtypes, lowest=True)


def _highest(dtypes: Dtypes) -> tuple[Any, ...]:
    return _extreme(dtypes, lowest=False)


def _extreme(dtypes: Dtypes, *, lowest: bool) -> tuple[Any, ...]:
    kind = dtypes[0].kind
    if kind == "f":
        first: Any = -np.inf if lowest else np.inf
    elif kind == "b":
        first = not lowest
    else:
        info = np.iinfo(dtypes[0])
        first = info.min if lowest else info.max
    return (first, np.iinfo(np.int64).max)[: len(dtypes)]


def _locating_op(name: str, better: str, identity: Callable[[Dtypes], tuple[Any, ...]]) -> Op:
    def fold(p: tuple[Any, Any], q: tuple[Any, Any]) -> tuple[Any, Any]:
        # The better element wins, and among equals the smaller index; a NaN beats every number, as in NumPy.
        (a, i), (b, j) = p, q
        closer = (b > a) if better == ">" else (b < a)
        second = np.where(a != a, (b != b) & (j < i), (b != b) | closer | ((b == a) & (j < i)))
        return np.where(second, b, a), np.where(second, j, i)

    return Op(
        fold,
        identity,
        name=name,
        commutative=True,
        components=2,
        prepare=lambda element, index: (element, index),
        finish=lambda element, index, count: index,
        dtypes=_locating,
        of_nothing=False,
    )


def _named() -> dict[str, Op]:
    def op(name: str, fn: str, identity: Any, dtypes: DtypeRule, **more: Any) -> Op:
        return Op(fn, identity, name=name, commutative=True, dtypes=dtypes, **more)

    operators = [
        op("sum", "a + b", 0, _widening(np.add)),
        op("prod", "a * b", 1, _widening(np.multiply)),
        op("mean", "a + b", 0, _averaging, finish=lambda total, count: total / count),
        op("min", "minimum(a, b)", _highest, _keeping, of_nothing=False),
        op("max", "maximum(a, b)", _lowest, _keeping, of_nothing=False),
        op("any", "a | b", False, _deciding, prepare=lambda element, index: element != 0),
        op("all", "a & b", True, _deciding, prepare=lambda element, index: element != 0),
        _locating_op("argmin", "<", _highest),
        _locating_op("argmax", ">", _lowest),
    ]
    return {operator.name: operator for operator in operators}


OPERATORS: Mapping[str, Op] = _named()


def find_op(op: object) -> Op:
    """Return the operator that ``op`` names or is."""
    if isinstance(op, Op):
        return op
    if isinstance(op, str) and op in OPERATORS:
        return OPERATORS[op]
    raise UnknownOperatorError(f"op: an Op or one of {', '.join(OPERATORS)}; got {op!r}")


@dataclass(frozen=True)
class Folding:
    """An operator made concrete for the dtypes of a call.

    Parameters
    ----------
    values, outputs : tuple of dtype
        Of the components that are folded, and of the results.
    map : TypedExpr
        From one element of each array, and its index, to the components.
    op : TypedExpr
        From the components of two values to those of one.
    finish : TypedExpr
        From the components and the number of elements to the results.
    identity : tuple
        One scalar a component.
    """

    values: Dtypes
    outputs: Dtypes
    map: TypedExpr
    op: TypedExpr
    finish: TypedExpr
    identity: tuple[Any, ...]


@lru_cache(maxsize=1024)
def make_folding(op: Op, mapped: Expr, arrays: Dtypes, dtype: Dtype | None) -> Folding:
    """Join a map and an operator for arrays of these dtypes.

    Parameters
    ----------
    op : Op
    mapped : Expr
        From one element of each array to the operator's elements.
    arrays : tuple of dtype
    dtype : dtype or None
        What the caller asked to compute in.

    Returns
    -------
    Folding
    """
    if len(mapped.results) != op.elements:
        raise ArgumentError(
            f"reduce with {op.name}: {op.elements} array(s), or a map with as many results; got {len(mapped.results)}"
        )
    elements = typed(mapped, arrays).dtypes
    values, outputs = op.value_dtypes(elements, dtype)
    load = trace(lambda *given: _load(op, mapped, dtype, given), len(arrays) + 1)
    # The count enters finish as a number of the values' own dtype, so that mean divides a float32 by a float32.
    count = values[0] if values[0].kind == "f" else INT64
    finish = trace(op.finish or (lambda *folded: folded[:-1]), op.components + 1)
    return Folding(
        values,
        outputs,
        typed(load, (*arrays, INT64), values),
        typed(op.fold, values * 2, values),
        typed(finish, (*values, count), outputs),
        op.identity(values),
    )


def _load(op: Op, mapped: Expr, dtype: Dtype | None, given: tuple[Any, ...]) -> Any:
    results = mapped(*given[:-1])
    parts = (results,) if mapped.single else results
    if dtype is not None:  # NumPy's dtype= converts the elements before they are folded
        parts = tuple(part.astype(dtype) for part in parts)
    return parts if op.prepare is None else op.prepare(*parts, given[-1])


def as_dtype(dtype: Any, label: str) -> Dtype | None:
    """Check a caller's ``dtype=``."""
    return None if dtype is None else computable(dtype, label)
