"""LogReg of Dask arrays and DataFrames: a long task on each worker for a whole fit, and lazy predictions."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.base import get_scheduler

from gpuprims.core.device import Device
from gpuprims.distributed.dask_parts import Blocks, Facts
from gpuprims.distributed.dask_rows import Rows, check_names, labels_like, matrix_of, rows_of
from gpuprims.distributed.objective import Form
from gpuprims.distributed.passes import Each
from gpuprims.distributed.samples import LABEL, all_classes, outputs_of
from gpuprims.distributed.sharded import split_rows
from gpuprims.errors import ArgumentError
from gpuprims.models.checks import check_fitted


def fit(model: Any, X: Any, y: Any, sample_weight: Any, minimise: Callable[[Each, Form, float], None]) -> None:
    """Fit a model to samples of Dask."""
    rows = rows_of(X, y, sample_weight)
    check_names(model, X, reset=True)
    with _placed(rows, X, _spec(model.device), intercept=bool(model.fit_intercept)) as (facts, begin, each):
        model.classes_, model.n_features_in_ = all_classes([facts.classes]), facts.features
        begin(model.classes_)
        outputs = outputs_of(model.classes_)
        minimise(each, Form(facts.dtype, facts.features, outputs, bool(model.fit_intercept), facts.fp64), facts.total)


@contextmanager
def _placed(
    rows: Rows, X: Any, device: str | None, *, intercept: bool
) -> Iterator[tuple[Facts, Callable[[np.ndarray], None], Each]]:
    """Place samples on the workers of a client, or in this process, for the length of a fit."""
    client = getattr(get_scheduler(collections=[X]), "__self__", None)
    if client is None or not hasattr(client, "submit"):
        there = dask.compute(*rows[:2], *([] if rows.weights is None else [rows.weights]))
        blocks = Blocks(device, *there, *([None] * (3 - len(there))), intercept=intercept)
        yield Facts.join([blocks.facts]), blocks.begin, lambda work: [blocks.run(work)]
        return
    from gpuprims.distributed.dask_tasks import Fit, Tasks, serve  # needs distributed, as a client does

    if client.asynchronous:
        raise ArgumentError(f"{LABEL}: a client of Dask that waits; got an asynchronous one (write Client(address))")
    workers = sorted(client.nthreads())
    if not workers:
        raise ArgumentError(f"{LABEL}: a cluster of Dask with workers; got none at {client.scheduler.address}")
    count = min(len(workers), len(rows.X))
    cuts = split_rows(len(rows.X), count)
    chosen = _homes(client, [rows.X[a:b] for a, b in pairwise(cuts)], workers)
    call = Fit(f"gpuprims-fit-{uuid4().hex}", device, intercept)

    def submit(k: int) -> Any:
        where: dict[str, Any] = {"workers": [chosen[k]], "allow_other_workers": True}
        parts = [None if one is None else client.compute(one[cuts[k] : cuts[k + 1]], **where) for one in rows]
        return client.submit(serve, call, k, *parts, key=f"{call.name}-{k}", pure=False, **where)

    tasks = Tasks(client, call, count, submit)
    try:
        yield tasks.facts(), tasks.begin, tasks.each
    finally:
        tasks.close()


def _homes(client: Any, groups: Sequence[Sequence[Any]], workers: Sequence[str]) -> list[str]:
    """Return a worker for each group of blocks: of those left, the one that has most of the blocks already."""
    left, chosen = list(workers), []
    for group in groups:
        held = client.who_has(client.futures_of(list(group))) or {}
        counts = Counter(worker for holders in held.values() for worker in holders)
        best = max(left, key=lambda one: counts[one])  # the first of several, as in every run
        left.remove(best)
        chosen.append(best)
    return chosen


# Predictions ---------------------------------------------------------------------------------------------------------


def predicted(model: Any, method: str, X: Any) -> Any:
    """Return a method's results on each block, lazily."""
    check_fitted(model)
    check_names(model, X, reset=False)
    array = matrix_of(X)
    one = copy.copy(model)
    one.callback, one.device = None, _spec(model.device)
    if hasattr(one, "feature_names_in_"):
        del one.feature_names_in_  # of blocks that are arrays
    classes = len(model.classes_)
    wide = method.startswith("predict_") or (method == "decision_function" and classes > 2)
    dtype = model.classes_.dtype if method == "predict" else model.coef_.dtype
    like = array._meta if dtype.kind in "biuf" else np.empty(0)
    shape: dict[str, Any] = {"chunks": (array.chunks[0], (classes,))} if wide else {"drop_axis": 1}
    meta = np.empty((0,) * (1 + wide), dtype, like=like)
    return array.map_blocks(partial(_call, one, method), dtype=dtype, meta=meta, token=f"gpuprims-{method}", **shape)


def _call(model: Any, method: str, block: Any) -> Any:
    if len(block):
        return getattr(model, method)(block)
    return getattr(model, method)(np.zeros((1, model.n_features_in_), model.coef_.dtype))[:0]


def score(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Return the accuracy; the result is computed."""
    guesses = predicted(model, "predict", X)
    lengths = guesses.chunks[0]
    hits = guesses == labels_like("y", y, lengths)
    if sample_weight is None:
        return float(hits.mean().compute())
    weights = labels_like("sample_weight", sample_weight, lengths)
    right, total = da.compute((hits * weights).sum(), weights.sum())
    return float(right / total)


def _spec(device: Any) -> str | None:
    return device.spec if isinstance(device, Device) else device
