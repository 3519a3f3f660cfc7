"""Prepared: what is decided about a call before its memory is known, and how it then runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.driver import Driver, Launch
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Targets, check_targets
from gpuprims.core.variant import Variant


class Result(NamedTuple):
    """A result as the caller gets it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Prepared(NamedTuple):
    """A call whose kernel is compiled and whose launch is fixed, but for the memory.

    Parameters
    ----------
    variant : Variant
        The kernel that runs.
    results : tuple of Result
    single : bool
        Whether the caller gets the one result bare, not in a tuple.
    launch : Launch or None
        None where there is nothing to compute.
    inputs, outputs : tuple of int
        For each operand of the kernel, the array, or the result, that it lies in.
    tickets : int or None
        Words of zeroed memory in which groups that share outputs meet; None for kernels without.
    scratch : int
        Bytes of partial values.
    board : int
        Entries of the board on which groups post for each other.
    reads : bool
        Whether there are elements to read; without, a fold stores the identity and its inputs have no memory.
    """

    variant: Variant
    results: tuple[Result, ...]
    single: bool
    launch: Launch | None
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tickets: int | None = None
    scratch: int = 0
    board: int = 0
    reads: bool = True

    def run(self, operands: Operands, targets: Targets | None) -> Any:
        """Launch on the memory of a call, and return its results as the caller wants them."""
        if targets is not None:
            return self._run_into(operands, targets)
        results = [operands.empty(shape, dtype) for shape, dtype in self.results]
        self.start(operands, results)
        if self.single:
            return operands.finish(results[0])
        return tuple([operands.finish(result) for result in results])

    def _run_into(self, operands: Operands, targets: Targets) -> Any:
        check_targets(operands.label, self.results, targets.natives)
        if operands.in_place or not operands.on_host:
            self.start(operands, targets.natives)
            if operands.in_place:
                operands.driver.synchronize()
            return targets.given
        computed = [operands.empty(shape, dtype) for shape, dtype in self.results]
        self.start(operands, computed)
        return operands.deliver([operands.driver.to_host(result) for result in computed], targets, single=self.single)

    def start(self, operands: Operands, results: Sequence[Any]) -> None:
        """Launch, to write to arrays of the device, or of the host where it shares them."""
        if self.launch is None:
            return
        memories = operands.memories
        read = [memories[k] for k in self.inputs]
        self.start_on(operands.driver, read, [operands.memory(results[k]) for k in self.outputs])

    def start_on(self, driver: Driver, read: list[Any], written: list[Any]) -> None:
        """Launch on the memory of the kernel's operands."""
        if self.launch is None:
            return
        if self.tickets is None:
            board = [driver.tile_statuses(self.board)] if self.board else []
            scratch = [driver.scratch(self.scratch)] if self.scratch else []
            self.launch([*read, *written, *board, *scratch])
            return
        tickets = driver.counters(self.tickets)
        partials = driver.scratch(self.scratch) if self.scratch else tickets
        self.launch([*(read if self.reads else [tickets] * len(read)), *written, partials, tickets])


def result_forms(
    label: str, results: Sequence[Result], written: tuple[Form, ...] | None, alignment: int
) -> tuple[Form, ...]:
    """Return where a kernel writes: where the caller says, which must fit, or to fresh memory."""
    if written is None:
        return tuple(contiguous(result.dtype, result.shape, alignment) for result in results)
    check_targets(label, results, written)
    return written


def target_forms(operands: Operands, targets: Targets | None) -> tuple[Form, ...] | None:
    """Return where a kernel is to write, as far as the caller says so; None where it writes to fresh memory."""
    if targets is None or (operands.on_host and not operands.in_place):
        return None
    return tuple([operands.form(native) for native in targets.natives])


def in_turn(launches: Sequence[Launch]) -> Launch:
    """Return one launch for several, each of which sees what those before it have written."""
    if len(launches) == 1:
        return launches[0]

    def start(memories: Sequence[Any]) -> None:
        for launch in launches:
            launch(memories)

    return start
