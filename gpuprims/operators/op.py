"""Op: the operator of a fold, an associative function with an identity.

An operator folds *values*, which have one or several components. ``prepare`` makes a value from an element, and
``finish`` the result from the folded value: argmax folds (element, index) pairs, and mean divides a sum at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.errors import ArgumentError, DtypeError, ExpressionError, NumberOverflowError, quoted
from gpuprims.expressions import Expr, expression, trace, typed
from gpuprims.expressions.masks import refuse_masked
from gpuprims.expressions.narrow import register
from gpuprims.operators.dtypes import BOOL, FLOAT64, INT64, Dtype, DtypeRule, Dtypes
from gpuprims.operators.laws import Trial, check_laws


def _never(elements: Dtypes, values: Dtypes) -> Op | None:
    """Fold elements of any dtype with the operator itself."""
    return None


class Op:
    """An associative operator with an identity.

    Parameters
    ----------
    fn : callable or str
        ``fn(a, b)`` of two values; for values of several components, of two tuples, giving a tuple. A string takes the
        components one by one, in order of first appearance.
    identity : scalar, tuple or callable
        The value with ``fn(identity, a) == a``; a tuple for several components, or a callable that returns it for the
        dtypes of the components.
    commutative : bool, default False
        True if ``fn(a, b) == fn(b, a)``. Kernels may then fold in any order.
    name : str, optional
        For messages.
    components : int, optional
        Number of components of a value, if ``identity`` is a callable.
    prepare : callable, optional
        From an element and its index along the reduced axes to a value; by default elements are values.
    finish : callable, optional
        From the folded components and the number of elements to the result; by default the value itself.
    dtypes : callable, optional
        From the dtypes of the elements and the caller's ``dtype`` to the dtypes of the components and of the results;
        by default the components keep the dtype that ``fn`` gives them.
    of_nothing : bool, default True
        True if the fold of no elements is the identity; otherwise it raises.
    converts : bool, default False
        True to convert elements to the dtype of the components before ``prepare`` instead of after it.
    instead : callable, optional
        From the dtypes of the elements and of the components to the operator that folds such elements in place of this
        one, or None: integers need no rounding errors, for example.
    better : callable, optional
        From the first components of two values to True if the first value is better. ``fn`` then returns the better
        value, or the earlier one if neither is, and kernels may search for it without folding the other components. A
        value that compares better than itself (NaN) wins.
    skips : callable, optional
        From an element, of several components from all, to True if the fold leaves it out, as nansum leaves out NaN.
        The number of elements that ``finish`` gets is that of the others.
    check : bool, default False
        True to check the laws on a thousand random values: ``fn(fn(a, b), c) == fn(a, fn(b, c))``,
        ``fn(identity, a) == a == fn(a, identity)``, if commutative ``fn(a, b) == fn(b, a)``, and that ``fn`` returns
        the better value.

    Raises
    ------
    ExpressionError, ArgumentError
        ``fn`` is not a function of two values.
    LawError
        With ``check=True``, a law does not hold; the message holds the values.

    Notes
    -----
    Without ``check=True`` nothing checks the laws, and results of an operator that breaks them depend on the kernel.
    The check draws int64 values and compares exactly. If the function or the identity takes no integers, it draws
    float64 values and compares up to rounding.

    An operator can be pickled if its functions can: strings, and functions defined at the top level of a module, but
    not lambdas (``cloudpickle``, as in Dask and joblib, takes these too).

    Examples
    --------
    >>> import gpuprims
    >>> xor = gpuprims.Op(lambda a, b: a ^ b, 0, commutative=True)
    >>> int(gpuprims.reduce([1, 2, 4, 4], op=xor, device="reference"))
    3

    The error for a law that does not hold contains values that break it:

    >>> gpuprims.Op(lambda a, b: a - b, 0, name="difference", check=True)
    Traceback (most recent call last):
    gpuprims.errors.LawError: Op 'difference': fn(fn(a, b), c) == fn(a, fn(b, c)); got 1 and -1 for a=0, b=0, c=-1

    Composition of affine maps ``x -> a*x + b``, which does not commute:

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
        converts: bool = False,
        instead: Callable[[Dtypes, Dtypes], Op | None] = _never,
        better: Callable[..., Any] | None = None,
        skips: Callable[..., Any] | None = None,
        check: bool = False,
    ) -> None:
        _check(name, components, commutative=commutative, of_nothing=of_nothing, converts=converts, check=check)
        # Pickles have the arguments, and trace them again.
        self._arguments = {
            "fn": fn,
            "identity": identity,
            "commutative": commutative,
            "name": name,
            "components": components,
            "prepare": prepare,
            "finish": finish,
            "dtypes": dtypes,
            "of_nothing": of_nothing,
            "converts": converts,
            "instead": instead,
            "better": better,
            "skips": skips,
        }
        self._changes: dict[str, Any] = {}
        self.fn = fn
        self.name = name
        self.commutative = commutative
        self.finish = finish
        self.prepare = prepare
        self.of_nothing = of_nothing
        self.converts = converts
        self.instead = instead
        self.better = None if better is None else trace(better, 2)
        self.skips = skips
        self.masked = False  # the last component of an element is True where it is not left out
        self.initial: tuple[Any, ...] | None = None  # the initial value of folds, a number for each component
        self.components = components or (len(identity) if isinstance(identity, tuple) else 1)
        self.elements = self.components if prepare is None else 1
        refuse_masked("Op: identity=", identity)
        self._identity = identity
        # From the dtypes of elements, and dtype=, to the dtypes of the components and of the results.
        self.value_dtypes: DtypeRule = dtypes or self._kept_dtypes
        self.fold = self._flat(fn, isinstance(identity, tuple) or self.components > 1)
        if check:
            check_laws(self.trial())

    def _flat(self, fn: Callable[..., Any] | str, tuples: bool) -> Expr:
        """Return the fold as a function of the components of both values."""
        n = self.components
        flat = trace(lambda *both: fn(both[:n], both[n:]), 2 * n) if tuples and callable(fn) else expression(fn, 2 * n)
        if len(flat.parameters) != 2 * n:
            got = ", ".join(flat.parameters)
            if isinstance(fn, str) and len(flat.parameters) < 2:
                got += ") (such as 'a + b'; operators with names need no Op, op=\"sum\""
            raise ExpressionError(f"Op {self.name!r}: a function of two values of {n} component(s); got one of ({got})")
        if len(flat.results) != n:
            raise ArgumentError(f"Op {self.name!r}: {n} component(s), as the identity has; got {len(flat.results)}")
        return flat

    def identity(self, dtypes: Dtypes) -> tuple[Any, ...]:
        """Return the identity's components as scalars of these dtypes."""
        given = self._identity(dtypes) if callable(self._identity) else self._identity
        return self.held(dtypes, given, "an identity")

    def held(self, dtypes: Dtypes, given: Any, what: str) -> tuple[Any, ...]:
        """Return a value's components as scalars of these dtypes."""
        components = given if isinstance(given, tuple) else (given,)
        cause = None
        try:
            held = tuple(dtype.type(value) for dtype, value in zip(dtypes, components, strict=True))
            pairs = zip(held, components, strict=True)
            unfit = any(isinstance(value, str | bytes | None) for value in components)  # NumPy reads numbers or NaN
            unfit = unfit or any(np.ndim(scalar) for scalar in held)  # NumPy makes arrays of lists
            if not unfit and all(scalar.dtype.kind in "fc" or scalar == value for scalar, value in pairs):
                return held  # floats may round
        except (OverflowError, ValueError, TypeError) as error:
            cause = error
        names = ", ".join(dtype.name for dtype in dtypes)
        value = components[0] if len(components) == 1 else given
        kind = NumberOverflowError if isinstance(cause, OverflowError) else DtypeError
        raise kind(f"Op {self.name!r}: {what} that {names} can hold; got {quoted(value)}") from cause

    def altered(self, **attributes: Any) -> Op:
        """Return a copy with other attributes."""
        other = Op.__new__(type(self))
        vars(other).update(vars(self), _changes=self._changes | attributes, **attributes)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), self._arguments, self._changes)

    def __copy__(self) -> Op:
        return self.altered()

    def __deepcopy__(self, memo: dict[int, Any]) -> Op:
        return self.altered()  # functions are not copied, and nothing else changes

    def trial(self) -> Trial:
        """Return the operator for the first dtype that its function and identity take, to check its laws."""
        refusals = []
        load = trace(self.prepare or (lambda *given: given[:-1]), self.elements + 1)
        identity = self._identity if isinstance(self._identity, tuple) else (self._identity,)
        of_bools = all(isinstance(component, bool | np.bool_) for component in identity)
        for element in (BOOL, INT64, FLOAT64) if of_bools else (INT64, FLOAT64, BOOL):
            elements = (element,) * self.elements
            try:
                values, _ = self.value_dtypes(elements, None)
                loaded, fold = typed(load, (*elements, INT64), values), typed(self.fold, values * 2, values)
                better = None if self.better is None else typed(self.better, values[:1] * 2, (BOOL,))
                held, prepared = self.identity(values), self.prepare is not None
                return Trial(self.name, elements, loaded, fold, held, better, prepared, self.commutative)
            except DtypeError as error:
                refusals.append(error)
        raise refusals[0]

    def _kept_dtypes(self, elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
        """Fold in the dtype that the function returns for operands of that dtype."""
        values = tuple(dtype or element for element in elements)
        if self.prepare is not None:
            values = typed(trace(self.prepare, self.elements + 1), (*values, INT64)).dtypes
        for _ in range(3):
            results = typed(self.fold, values * 2).dtypes
            if results == values or dtype is not None:
                return tuple(register(value) for value in values), values
            values = results
        names = ", ".join(value.name for value in values)
        raise DtypeError(f"Op {self.name!r}: a function whose result has its operands' dtype; got a growing ({names})")

    def __repr__(self) -> str:
        return f"Op({self.name!r}, components={self.components}, commutative={self.commutative})"


def _made(kind: type[Op], arguments: dict[str, Any], changes: dict[str, Any]) -> Op:
    """Return the operator of a pickle."""
    made = kind(**arguments)
    return made.altered(**changes) if changes else made


def for_integers(op: Op) -> Callable[[Dtypes, Dtypes], Op | None]:
    """Return an operator's ``instead`` if another one folds integers and bools, which are never NaN."""
    return lambda elements, values: op if elements[0].kind in "biu" else None


def _check(name: str, components: object, **flags: object) -> None:
    """Raise for a number of components, or a flag, of another type: commutative="no" would count as True."""
    if components is not None and (not isinstance(components, int) or components < 1):
        raise ArgumentError(f"Op {name!r}: components= a whole number from 1 on; got {quoted(components)}")
    for flag, given in flags.items():
        if not isinstance(given, bool | np.bool_):
            raise ArgumentError(f"Op {name!r}: {flag}= True or False; got {quoted(given)}")
