"""The reference kernels: what the primitives mean, over the same specs and layouts that kernels get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gpuprims.core.driver import Capabilities
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.refusals import one_step
from gpuprims.core.registry import Variant
from gpuprims.core.traits import Call
from gpuprims.expressions import TypedExpr


def _able(capabilities: Capabilities, call: Call) -> str | None:
    return None


class _Places:
    """The operands of a launch, as arrays of shape (kept, reduced), lanes last."""

    def __init__(self, spec: KernelSpec, memories: Sequence[np.ndarray], layout: np.ndarray) -> None:
        self.spec = spec
        self.memories = memories
        self.accesses = (*spec.inputs, *spec.outputs)
        numbers = iter(layout[1:].tolist())
        kept, reduced = len(self.accesses[0].kept), len(self.accesses[0].reduced)
        self._kept = [next(numbers) for _ in range(kept)]
        self._reduced = [next(numbers) for _ in range(reduced)]
        self._offsets = [next(numbers) for _ in self.accesses]
        self._kept_steps = [[next(numbers) for _ in range(kept)] for _ in self.accesses]
        self._reduced_steps = [[next(numbers) for _ in range(reduced)] for _ in self.accesses]

    def see(self, k: int, *, kept: bool = True, reduced: bool = True) -> np.ndarray:
        """Return an operand along the kept axes, the reduced ones, or both, as a view."""
        access, memory = self.accesses[k], self.memories[k]
        item = access.dtype.itemsize
        if memory.dtype != access.dtype:  # scratch memory, which is bytes
            memory = memory.view(access.dtype)
        lengths = [*(self._kept if kept else ()), *(self._reduced if reduced else ()), access.lanes]
        steps = [*(self._kept_steps[k] if kept else ()), *(self._reduced_steps[k] if reduced else ())]
        strides = [*(step * item * access.lanes for step in steps), item]
        start = self._offsets[k] * access.lanes * item
        first = as_strided(memory, (2,), (start,))[1:]  # no slice, which a 0-d array and strides of its own forbid
        return as_strided(first, lengths, strides)

    def elements(self, o: int, n: int) -> list[Any]:
        """Apply MAP everywhere: one array of shape (o, n) for each component of the values."""
        loaded = self._loaded(o, n)
        index = np.broadcast_to(np.arange(n), (o, n))
        return [np.broadcast_to(value, (o, n)) for value in self.spec.map(*loaded, index)]

    def _loaded(self, o: int, n: int) -> list[np.ndarray]:
        loaded: list[np.ndarray] = []
        for k, access in enumerate(self.spec.inputs):
            whole = self.see(k)
            whole = whole.reshape(o, whole.size // max(o * access.lanes, 1), access.lanes)[:, :n]
            loaded += [whole[..., lane] for lane in range(access.lanes)]
        return loaded

    def store(self, values: Sequence[Any], count: Any, **axes: bool) -> None:
        """STORE everywhere: finish the values and write them in order."""
        finish = self.spec.finish
        if finish is None:
            raise TypeError("STORE: a function that finishes values; got none")
        counted = np.asarray(count).astype(finish.steps[len(values)].dtype)
        if self.spec.place is not None:
            self._put(finish, self.spec.place, [*values, counted], np.asarray(count))
            return
        results = iter(finish(*values, counted))
        for k, access in enumerate(self.spec.outputs, len(self.spec.inputs)):
            place = self.see(k, **axes)
            for lane in range(access.lanes):
                place[..., lane] = np.reshape(next(results), place.shape[:-1])

    def _put(self, finish: TypedExpr, place: TypedExpr, values: Sequence[Any], count: np.ndarray) -> None:
        """STORE everywhere, of values, the last the number of elements, that say where they go."""
        shape = np.shape(values[0])
        given = [np.broadcast_to(argument, shape) for argument in (*values, *self._loaded(*shape))]
        results = finish(*given)
        given[len(values) - 1] = np.broadcast_to(count, shape)  # places are integers, whatever a mean divides by
        found = place(*given)
        axes = len(self._kept)
        for k, (result, places) in enumerate(zip(results, found, strict=True), len(self.spec.inputs)):
            kept, whole = np.broadcast_to(places, shape) >= 0, self.see(k)[..., 0]
            if whole.ndim == axes:  # an axis of one element is none to the layout
                whole = whole[..., np.newaxis]
            walks = np.unravel_index(np.broadcast_to(places, shape)[kept], whole.shape[axes:])
            rows = np.unravel_index(np.nonzero(kept)[0], whole.shape[:axes]) if axes else ()
            at: tuple[Any, ...] = (*rows, *walks)
            whole[at] = np.broadcast_to(result, shape)[kept]


def map_numpy(spec: KernelSpec, memories: Sequence[np.ndarray], layout: np.ndarray, count: int) -> None:
    """Apply MAP to every element."""
    places = _Places(spec, memories, layout)
    places.store(places.elements(1, count), int(layout[0]) + np.arange(count)[None], kept=False)


def reduce_numpy(spec: Any, memories: Sequence[np.ndarray], layout: np.ndarray, kept: int, n: int, parts: int) -> None:
    """Fold neighbours until one value is left of each row, which keeps order and rounds like pairwise summation."""
    if parts != 1:
        raise TypeError(f"reduce_numpy: one part; got {parts}")
    places = _Places(spec, memories, layout)
    nothing = [np.full((kept, 1), scalar) for scalar in spec.identity]
    values = places.elements(kept, n) if n else nothing
    while values[0].shape[1] > 1:
        even = values[0].shape[1] // 2 * 2
        folded = spec.op(*(v[:, 0:even:2] for v in values), *(v[:, 1:even:2] for v in values))
        values = [np.concatenate([f, v[:, even:]], axis=1) for f, v in zip(folded, values, strict=True)]
    places.store([value[:, 0] for value in values], int(layout[0]), reduced=False)


def scan_numpy(
    spec: Any,
    memories: Sequence[np.ndarray],
    layout: np.ndarray,
    kept: int,
    n: int,
    level: int,
    totals: int,
    folds: int,
) -> None:
    """Fold each element with the one before it, the two before that, four, and so on: Hillis and Steele's scan."""
    if (level, totals, folds) != (-1, -1, 0):
        raise TypeError(f"scan_numpy: one level; got {level}, {totals}, {folds}")
    places = _Places(spec, memories, layout)
    values = places.elements(kept, n)
    stride = 1
    while stride < n:
        folded = spec.op(*(v[:, :-stride] for v in values), *(v[:, stride:] for v in values))
        values = [np.concatenate([v[:, :stride], f], axis=1) for f, v in zip(folded, values, strict=True)]
        stride *= 2
    if not spec.inclusive:
        nothing = [np.full((kept, 1), scalar) for scalar in spec.identity]
        values = [np.concatenate([first, v[:, :-1]], axis=1) for first, v in zip(nothing, values, strict=True)]
    places.store(values, int(layout[0]) + np.broadcast_to(np.arange(n), (kept, n)))


def histogram_numpy(
    spec: Any,
    memories: Sequence[np.ndarray],
    layout: np.ndarray,
    kept: int,
    n: int,
    bins: int,
    parts: int,
    replicas: int,
) -> None:
    """Look up the bin of each element among the thresholds, and add up in order, in the first part and replica."""
    histograms, table = memories[len(spec.inputs) :]
    if spec.sums not in ("counts", "integers", "floats"):
        raise TypeError(f"histogram_numpy: bins of counts, integers or floats, added in order; got {spec.sums}")
    keys, *weights = _Places(spec, memories, layout).elements(kept, n)
    if spec.kind == "direct":
        found = np.where(keys < 0, bins + 1, np.minimum(keys, bins)).astype(np.int64)
    else:
        thresholds = table[spec.table_header :].view(keys.dtype)[: bins + 1]
        found = np.searchsorted(thresholds[:-1], keys, "right") - 1
        found = np.where((keys >= thresholds[0]) & (keys <= thresholds[-1]), found, bins)
    sums = histograms.view(spec.dtype).reshape(-1, kept, bins + 2)
    sums[...] = 0
    for k in range(kept):
        np.add.at(sums[0, k], found[k], weights[0][k].astype(spec.dtype) if weights else 1)


def stencil_numpy(spec: Any, memories: Sequence[np.ndarray], layout: np.ndarray, count: int) -> None:
    """Take the neighbours of every element, one offset after the other, and apply the function to them."""
    places = _Places(spec, memories, layout)
    elements = places.see(0)[..., 0]
    if spec.window == "table":
        shape = [spec.reach(axis)[1] - spec.reach(axis)[0] + 1 for axis in range(3)]
        weights = memories[1].reshape(shape)
        value = np.zeros(elements.shape, weights.dtype)
        for index in np.argwhere(weights):
            dz, dy, dx = (int(place) + spec.reach(axis)[0] for axis, place in enumerate(index))
            value += weights[tuple(index)] * _beside(elements, (dz, dy, dx), spec).astype(weights.dtype)
    else:
        taken = [_beside(elements, offset, spec).reshape(1, count) for offset in spec.offsets]
        value = spec.map(*taken, np.zeros((1, count), np.int64))[0]
    places.store([np.reshape(value, (1, count))], np.zeros((1, count), np.int64), kept=False)


def _beside(elements: np.ndarray, offset: tuple[int, int, int], around: Any) -> np.ndarray:
    """Return for every element the one at an offset from it, or what lies beyond the borders."""
    outside = np.zeros(elements.shape, bool)
    for axis, step in enumerate(offset, 1):
        length = elements.shape[axis]
        index = np.arange(length) + step
        beyond = (index < 0) | (index >= length)
        elements = np.take(elements, _within(index, length, around.mode), axis)
        outside |= np.expand_dims(beyond, [other for other in range(5) if other != axis])
    return np.where(outside, around.beyond, elements) if around.mode == "constant" else elements


def _within(index: np.ndarray, length: int, mode: str) -> np.ndarray:
    """Return where indices beyond the borders lead; see ``stencil.h``."""
    if mode in ("nearest", "constant"):
        return index.clip(0, length - 1)
    period = length if mode == "wrap" else max(2 * length - 2 * (mode == "mirror"), 1)
    walked: np.ndarray = index % period
    return walked if mode == "wrap" else np.minimum(walked, period - walked - (mode == "reflect"))


def logistic_numpy(spec: Any, memories: Sequence[np.ndarray], layout: np.ndarray, n: int, parts: int) -> None:
    """Score all rows by a product of matrices, and add them up by its transpose."""
    rows, labels, weights, *shares = memories[: len(spec.inputs)]
    loss, gradient = memories[len(spec.inputs) : -2]
    k = spec.features
    scores = rows @ weights[:k] + sum(weights[k:])
    losses, errors = spec.map(scores, labels, *(shares or [np.ones_like(labels)]))
    loss[...] = losses.sum()
    gradient[:k], gradient[k:] = errors @ rows, errors.sum()


def descent_numpy(spec: Any, memories: Sequence[np.ndarray], layout: np.ndarray, n: int, steps: int) -> None:
    """Take one step after the other, by products of matrices."""
    rows, labels, before, *shares, rates = memories[: len(spec.inputs)]
    weights = before.astype(np.float64)  # to which small steps are not rounded off
    k, (decay, rate) = spec.features, rates
    count = shares[0] if shares else np.ones_like(labels)
    for _ in range(steps):
        now = weights.astype(before.dtype)
        _, errors = spec.map(rows @ now[:k] + sum(now[k:]), labels, count)
        weights[:k] -= decay * weights[:k] + rate * (errors @ rows)
        weights[k:] -= rate * errors.sum()
    memories[len(spec.inputs)][...] = weights


def csr_numpy(spec: Any, memories: Sequence[np.ndarray], layout: np.ndarray, n: int) -> None:
    """Multiply each stored element by what lies beside it, and add up the rows, one column after the other."""
    elements, places, begins, dense, product = memories
    filled = begins[:-1] < begins[1:]  # reduceat gives an empty row the element behind it
    product[...] = 0
    columns = product.reshape(n, -1).T, dense.reshape(len(dense), -1).T
    for to, beside in zip(*columns, strict=True):
        to[filled] = np.add.reduceat(spec.map(elements, beside[places])[0], begins[:-1][filled])


def sgd_numpy(spec: Any, memories: Sequence[np.ndarray], layout: np.ndarray, steps: int, stretch: int) -> None:
    """Move the weights by one sample after the other."""
    rows, labels, before, *shares, order, paces = memories[: len(spec.inputs)]
    weights, k = memories[len(spec.inputs)], spec.features
    weights[...] = before
    for step, number in enumerate(order.tolist()):
        rate, keep = paces[step // stretch]
        (probability,) = spec.map(rows[number] @ weights[:k] + sum(weights[k:]))
        moved = rate * (probability - labels[number]) * (shares[0][number] if shares else 1)
        weights[:k] = keep * weights[:k] - moved * rows[number]
        weights[k:] -= moved


def hogwild_numpy(
    spec: Any,
    memories: Sequence[np.ndarray],
    layout: np.ndarray,
    steps: int,
    stretch: int,
    workers: int,
    part: int,
) -> None:
    """Move the weights by one sample after the other: one thread alone has nothing to lock."""
    if part:
        sgd_numpy(spec, memories, layout, steps, stretch)


# Far more items than any array has: one part, so that a fold is one pass.
_WHOLE = 2**62

VARIANTS = (
    Variant(
        "histogram",
        "numpy",
        "reference",
        histogram_numpy,
        rank=0,
        block=1,
        items=_WHOLE,
        groups_per_unit=1,
        histograms="private",
        refuse=_able,
    ),
    Variant("map", "numpy", "reference", map_numpy, rank=0, block=1, items=_WHOLE, refuse=_able),
    Variant("stencil", "numpy", "reference", stencil_numpy, rank=0, block=1, items=_WHOLE, refuse=one_step),
    Variant("scan", "numpy", "reference", scan_numpy, rank=0, block=1, items=_WHOLE, refuse=_able, scratch="levels"),
    Variant(
        "logistic",
        "numpy",
        "reference",
        logistic_numpy,
        rank=0,
        block=1,
        items=_WHOLE,
        shares_outputs=False,
        refuse=_able,
    ),
    Variant("descent", "numpy", "reference", descent_numpy, rank=0, block=1, items=_WHOLE, refuse=_able),
    Variant("csr", "numpy", "reference", csr_numpy, rank=0, block=1, items=_WHOLE, refuse=_able),
    Variant("sgd", "numpy", "reference", sgd_numpy, rank=0, block=1, items=1, refuse=_able),
    Variant("hogwild", "numpy", "reference", hogwild_numpy, rank=0, block=1, items=1, refuse=_able),
    Variant("reduce", "numpy", "reference", reduce_numpy, rank=0, block=1, items=_WHOLE, refuse=_able),
)
