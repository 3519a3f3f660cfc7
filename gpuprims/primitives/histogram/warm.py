"""Warm calls of histograms of a device's arrays: the launches, and little else of the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.faults import Fault, KnownArrays
from gpuprims.core.layout import Form
from gpuprims.primitives.histogram.binning import Table
from gpuprims.primitives.histogram.partitioned import Partitioned
from gpuprims.primitives.histogram.reading import Reading
from gpuprims.primitives.histogram.sought import BOUNDS
from gpuprims.primitives.histogram.tables import table_on

# From arrays of the device to counts and edges.
Run = Callable[[Sequence[Any]], tuple[Any, Any]]
Start = Callable[..., tuple[Any, Any]]


def starting(
    device: Device, reading: Reading | Partitioned, result: Form, table: Table, *, edges: bool = True
) -> Start | None:
    """Return a function of arrays, their table on the device and further memory; None if a call takes more launches.

    It launches a reading, and returns counts and edges; without ``edges``, or of a table of numbers, None for these.
    """
    numbers = table.kind == "direct" or not edges
    copies = numbers or (reading.edges and (table.kind == "sought" or table.edges_in_words))
    if isinstance(reading, Partitioned) or not copies:
        return None
    if reading.zeroed or reading.reports or reading.behind or reading.own:
        return None
    launch, nbytes, planes, _, fold, _, _, counters, *_ = reading
    shape, dtype, edges_shape, edges_dtype = result.shape, result.dtype, table.edges.shape, table.edges.dtype

    def start(arrays: Sequence[Any], words: Any, *more: Any) -> tuple[Any, Any]:
        driver = device.driver
        counts, edges = driver.empty(shape, dtype), None if numbers else driver.empty(edges_shape, edges_dtype)
        left = counts if fold is None else driver.scratch(nbytes)
        beside = (driver.counters(counters),) if counters else ()
        launch((*arrays, left, words, *beside, *more) if numbers else (*arrays, left, words, *beside, edges, *more))
        if fold is not None:
            fold((*[left] * planes, counts))
        return counts, edges

    return start


def run_in_table(start: Start, device: Device, table: Table) -> Run:
    """Return a function that counts in a table."""
    return lambda arrays: start(arrays, table_on(device, table))


def run_for_counts(start: Start, device: Device, table: Table) -> Callable[[Sequence[Any]], Any]:
    """Return a function that counts in a table and returns only the counts."""
    return lambda arrays: start(arrays, table_on(device, table))[0]


def run_between(start: Start, device: Device, bounds: Launch, known: KnownArrays, fault: Fault, otherwise: Run) -> Run:
    """Return a function that counts between bounds that another launch finds; ``otherwise`` waits for new arrays."""
    faults = device.faults

    def run(arrays: Sequence[Any]) -> tuple[Any, Any]:
        if arrays[0] not in known:
            return otherwise(arrays)
        faults.check()
        driver = device.driver
        found, report = driver.scratch(BOUNDS), driver.report()
        bounds((arrays[0], found, found))
        results = start(arrays, found, report.memory)
        report.leave()
        faults.add(report, fault)
        return results

    return run


def run_to_length(
    start: Start,
    device: Device,
    largest: Launch,
    table: Table,
    minlength: int,
    otherwise: Callable[[Sequence[Any], int], Any],
) -> Callable[[Sequence[Any]], Any]:
    """Return a function that counts numbers up to a likely length, while another launch finds the ``largest``.

    The host waits for this alone. If it gives another length, ``otherwise`` counts again; a negative one is a fault.
    """
    length = table.bins

    def run(arrays: Sequence[Any]) -> Any:
        report = device.driver.report()
        largest((arrays[0], report.memory))
        report.mark()
        sums, _ = start(arrays, table_on(device, table))
        found = report.read()
        return sums if found >= 0 and max(minlength, found + 1) == length else otherwise(arrays, found)

    return run
