"""Warm calls on short host arrays, counted in place with little besides the launches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.registry import REGISTRY
from gpuprims.primitives.histogram.binning import Table
from gpuprims.primitives.histogram.bins import launch_of_ends, table_between
from gpuprims.primitives.histogram.reading import Reading
from gpuprims.primitives.histogram.readings import Readings

Run = Callable[[Sequence[Any]], Any]


def runner(plan: Any, slow: Run, nbytes: int) -> Run:
    """Return a function that runs a plan on at most ``nbytes`` bytes; ``slow`` if it computes more than counts."""
    readings, (result,), request = plan.compiled(), plan.results, plan.request
    if len(result.shape) > 1:
        return slow
    if plan.seeks:
        described = request.kind, request.bins, request.guide
        return run_between(plan.device, plan.forms[0], readings, result.dtype, plan.seeks, described, slow, nbytes)
    plain = all(form.strides == contiguous(form.dtype, form.shape, 1).strides for form in plan.forms)
    count = counting(plan.device, readings, result.dtype, plan.table, nbytes) if plain else None
    return slow if count is None else run_in_table(count, plan.table, result.shape[0], alone=plan.alone)


def plain_counts(readings: Readings) -> Reading | None:
    """Return the reading of counts along one axis, with no other results; None if there are others."""
    sums = readings.sums
    if not isinstance(sums, Reading) or readings.peaks or readings.zeroed or len(readings.shape) > 1:
        return None
    return None if sums.zeroed or sums.counters or sums.own or sums.edges or sums.reports else sums


def counting(device: Device, readings: Readings, dtype: np.dtype[Any], table: Table, nbytes: int) -> Run | None:
    """Return a function that counts in a table, and places after the bins; None if a call needs more than that."""
    sums = plain_counts(readings)
    there: Any = device
    if sums is None or not hasattr(there.driver, "runner_in_place"):
        return None
    words, shape = table.words, readings.shape

    def run(arrays: Sequence[Any]) -> Any:
        driver = there.driver  # read in each call: after a fork, another driver refuses
        return _counted(driver, sums, [driver.memory(array) for array in arrays], words, np.empty(shape, dtype))

    quick: Run = there.driver.in_this_thread(run, nbytes)
    if sums.fold is None:
        how = {"turned": False, "nbytes": nbytes, "beside": (words,)}
        quick = there.driver.runner_in_place(device, sums.launch, contiguous(dtype, shape, 1), quick, **how)
    return quick


def _counted(driver: Any, sums: Reading, memories: Sequence[Any], words: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Count into an array of the host, and return it."""
    try:
        sums.run(driver, memories, driver.memory(words), (), driver.memory(counts))
    finally:
        driver.wait()  # also before an error frees the memory
    return counts


def run_in_table(count: Run, table: Table, bins: int, *, alone: bool) -> Run:
    """Return a function that counts and returns counts and edges, or only the counts."""
    if alone:
        return lambda arrays: count(arrays)[:bins]
    edges = table.edges
    return lambda arrays: (count(arrays)[:bins], edges.copy())


def run_between(
    device: Device,
    form: Form,
    readings: Readings,
    dtype: np.dtype[Any],
    bins: int,
    described: tuple[Any, ...],
    slow: Run,
    nbytes: int,
) -> Run:
    """Return a function that counts between the bounds of the elements; ``slow`` if tables differ."""
    sums = plain_counts(readings)
    if sums is None or form.dtype.kind == "b":
        return slow
    (launch, kind), shape = launch_of_ends(form, 1, device, REGISTRY.generation), readings.shape

    def run(arrays: Sequence[Any]) -> Any:
        driver = device.driver
        memories, ends = [driver.memory(array) for array in arrays], np.empty(2, kind)
        found = driver.memory(ends)
        try:
            launch((memories[0], found, found))
        finally:
            driver.wait()
        low, high = ends
        if not (math.isfinite(low) and math.isfinite(high)):
            return slow(arrays)  # which raises an error that says why
        table = table_between(arrays[0].dtype, bins, low, high)
        if (table.kind, table.bins, table.guide.size) != described:
            return slow(arrays)
        counts = _counted(driver, sums, memories, table.words, np.empty(shape, dtype))
        return counts[:bins], table.edges.copy()

    quick: Run = device.driver.in_this_thread(run, nbytes)
    return quick
