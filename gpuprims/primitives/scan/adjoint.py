"""The functions of gradients through a scan, for :mod:`gpuprims.primitives.scan.gradients`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions import Expr, trace, typed
from gpuprims.expressions.derivatives import gradients, jacobian, vjp
from gpuprims.expressions.narrow import register
from gpuprims.operators import Folding
from gpuprims.operators.dtypes import INT64, Dtype, Dtypes
from gpuprims.primitives.scan.matrices import Part, Place, parts_of


class Step(NamedTuple):
    """A function from the components of a state, and of an element, to those of the next state."""

    function: Expr
    start: tuple[float, ...]  # the state before the first element

    @property
    def states(self) -> int:
        """Components of a state."""
        return len(self.start)

    @property
    def elements(self) -> int:
        """Components of an element, at least as many as of a state."""
        return len(self.function.parameters) - self.states


@lru_cache(maxsize=256)
def adjoint_folding(step: Step, arrays: Dtypes, outputs: Dtypes, last: int) -> Folding:
    """Return the folding of affine maps, which stores gradients, but ``g`` at the last element."""
    dtype = register(np.result_type(*map(register, arrays[-step.states :])))
    adjoint = _Adjoint(step, arrays, dtype, parts_of(step.function, step.states), last)
    values = (dtype,) * adjoint.components
    taken = (*values, INT64, *arrays)
    return Folding(
        values=values,
        outputs=outputs,
        map=typed(trace(adjoint.load, len(arrays) + 1), (*arrays, INT64), values),
        op=typed(trace(adjoint.compose, 2 * len(values)), values * 2, values),
        finish=typed(trace(adjoint.finish, len(taken)), taken, outputs),
        identity=(*(dtype.type(r == c) for r, c in adjoint.kept), *(dtype.type(0),) * step.states),
    )


class _Adjoint(NamedTuple):
    """The functions of the folding.

    A value has the kept parts of ``T`` and of products of such matrices, row by row, and then the term.
    """

    step: Step
    arrays: Dtypes
    values: Dtype  # of all components
    parts: dict[Place, Part]
    last: int

    @property
    def kept(self) -> list[Place]:
        """The places of the parts that a value has."""
        return [place for place, part in self.parts.items() if part.kept == place]

    @property
    def components(self) -> int:
        """Components of a value."""
        return len(self.kept) + self.step.states

    def load(self, *given: Any) -> tuple[Any, ...]:
        """Return the map of an element, from those of the arrays and its index."""
        n = self.step.states
        arguments, above = self._spread(given[:-1])
        of_results = jacobian(self.step.function)(*arguments)  # by each argument
        parts = {(r, c): of_results[c * len(arguments) + r] for r, c in self.parts}
        parts |= {place: parts[place].astype(self.values) for place in self._whole()}
        terms = [_sum(parts[r, c] * above[c] for c in range(n) if (r, c) in parts) for r in range(n)]
        return (*(parts[place] for place in self.kept), *terms)

    def _whole(self) -> list[Place]:
        """Return the parts of ``T`` that are integers beside floats of one dtype.

        Slopes of a maximum are, and the product of an integer and a float32 would be of float64.
        """
        if any(register(one) != self.values for one in self.arrays):
            return []
        function = jacobian(self.step.function)
        arity = len(function.parameters)
        dtypes = typed(function, (self.values,) * arity).dtypes
        traced = {k for k, one in enumerate(function.results) if function.code[one].name != "constant"}
        places = {place: place[1] * arity + place[0] for place in self.parts}
        return [place for place, k in places.items() if k in traced and dtypes[k].kind == "i"]

    def compose(self, *both: Any) -> tuple[Any, ...]:
        """Return the map ``p`` followed by the map ``q``."""
        n = self.step.states
        (p, before), (q, after) = (self._split(both[k:][: self.components]) for k in (0, self.components))
        through = [(r, c, [k for k in range(n) if {(r, k), (k, c)} <= p.keys()]) for r, c in self.kept]
        parts = [_sum(q[r, k] * p[k, c] for k in between) for r, c, between in through]
        terms = [_sum(q[r, k] * before[k] for k in range(n) if (r, k) in q) + after[r] for r in range(n)]
        return (*parts, *terms)

    def finish(self, *given: Any) -> tuple[Any, ...]:
        """Return the gradients of an element, from what passes to it, its place, and the elements there."""
        n, step = self.step.states, self.step
        _, later = self._split(given[: self.components])
        place, (arguments, above) = given[self.components], self._spread(given[self.components + 1 :])
        whole = [one + more for one, more in zip(above, later, strict=True)]
        own = gradients(step.function, arguments, whole)[n:]
        kept = (*whole, *(0,) * (step.elements - n))
        # GPUs compare 64 bits by several instructions. rows: queues-float16
        at_last = place.astype(np.int32) == self.last if self.last < 2**31 else place == self.last
        return tuple(np.where(at_last, one, gradient) for one, gradient in zip(kept, own, strict=True))

    def _split(self, value: Sequence[Any]) -> tuple[dict[Place, Any], Sequence[Any]]:
        """Return the parts of the matrix by their places, and the term."""
        known = dict(zip(self.kept, value, strict=False))
        whole = {place: -known[one.kept] if one.negative else known[one.kept] for place, one in self.parts.items()}
        return whole, value[len(known) :]

    def _spread(self, given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the arguments of the step, and the gradients above; 0 for what nothing depends on."""
        step = self.step
        whole: list[Any] = [0] * (2 * step.states + step.elements)
        for k, one in zip(needed(step), _wide(given, self.arrays), strict=True):
            whole[k] = one
        return whole[: -step.states], whole[-step.states :]


def _wide(given: Sequence[Any], dtypes: Dtypes) -> list[Any]:
    """Return traced elements in the dtype of registers: products of float16 round in it, and each device in its way."""
    return [one.astype(register(dtype)) for one, dtype in zip(given, dtypes, strict=True)]


def _sum(terms: Any) -> Any:
    """Return a sum that does not begin with a 0."""
    first, *others = terms
    for term in others:
        first = first + term
    return first


@lru_cache(maxsize=256)
def needed(step: Step) -> tuple[int, ...]:
    """Return which of the states, the elements and the gradients above the gradients depend on."""
    whole = vjp(step.function)
    used = set(whole.results)
    for k in reversed(range(len(whole.code))):
        if k in used:
            used.update(whole.code[k].operands)
    return tuple(sorted(int(whole.code[k].value) for k in used if whole.code[k].name == "argument"))


@lru_cache(maxsize=256)
def first_of(step: Step, dtypes: Dtypes) -> Expr:
    """Return the function from the first element and the gradient above to the element's gradient.

    ``dtypes`` are those of the states, the elements and the gradients above.
    """
    n, m = step.states, step.elements

    def first(*given: Any) -> tuple[Any, ...]:
        wide = _wide(given, dtypes[n:])
        own = gradients(step.function, (*step.start, *wide[:m]), wide[m:])[n:]
        return tuple(map(_as, own, dtypes[n : n + m], given))

    return trace(first, m + n)


@lru_cache(maxsize=256)
def first_two(step: Step, dtypes: Dtypes) -> Expr:
    """Return the function to the gradients of the first element and of the second.

    It takes the first state, both elements, the gradient above the first state, and ``g`` of the second.
    """
    n, m = step.states, step.elements
    of_elements = dtypes[n : n + m]
    taken = *dtypes[:n], *of_elements * 2, *dtypes[n + m :], *of_elements[:n]
    ends = np.cumsum([n, m, m, n, n])

    def both(*given: Any) -> tuple[Any, ...]:
        wide = _wide(given, taken)
        state, first, second, above, whole = (wide[begin:end] for begin, end in zip((0, *ends), ends, strict=False))
        passed = gradients(step.function, (*state, *second), whole)
        joined = [one + more for one, more in zip(above, passed[:n], strict=True)]
        own = gradients(step.function, (*step.start, *first), joined)[n:]
        return tuple(map(_as, (*own, *passed[n:]), of_elements * 2, given[n : n + 2 * m]))

    return trace(both, len(taken))


def _as(value: Any, dtype: Dtype, like: Any) -> Any:
    """Return a traced value of a dtype; a number becomes one by the value that it replaces."""
    return (np.where(False, like, value) if isinstance(value, int) else value).astype(dtype)
