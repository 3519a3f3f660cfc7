"""Warm calls: a call like an earlier one finds its launch plan by a few facts that are cheap to read.

Describing arrays, checking keywords and looking up a plan takes longer than a launch. So the most used functions keep
their launch plans by keywords and by a few facts about each array, which its backend provides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.apart import Apart
from gpuprims.core.arrays import unchanged
from gpuprims.core.by_numpy import Compute
from gpuprims.core.call_keys import Key, key_of
from gpuprims.core.determinism import CHOSEN, Asked, Level, asked_level
from gpuprims.core.device import Device
from gpuprims.core.guests import GuestKey, IntoGuestsKey, as_arrays, into_guests, running_guests
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.core.program_cache import forgets_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.taking import Step, making_arrays, numbers_of, taking
from gpuprims.expressions.expr import Expr

# Takes the arrays of a call and returns its result.
Run = Callable[[Sequence[Any]], Any]

_MOST = 1024
# Largest call on host memory, in bytes, that runs in C where there is a compiler: the time on the host counts
# (row quick-large of backends/opencl/measurements.md).
SHORT = 1 << 24
# Keywords of these classes are compared by value. Others are not: True equals 1, and a function's variables may change.
AS_GIVEN = frozenset({type(None), int, str, Expr})
# Classes of initial values in warm calls; they are compared as text.
BEGINS = frozenset({type(None), int, float})


def _look_up(
    runs: dict[Key | None, Run], keywords: Hashable, arrays: tuple[Any, ...], device: str | Device | None
) -> tuple[Key | None, tuple[Any, ...], Run | None]:
    """Return the key of a call, its arrays, and the function among ``runs`` that runs it."""
    key = WarmCalls.key_of(keywords, arrays, device)
    try:
        return key, arrays, runs.get(key)
    except (TypeError, ValueError):  # a keyword that cannot be hashed
        return key, arrays, None


class WarmCalls:
    """The warm calls of one function.

    ``key_of`` makes keys and ``look_up`` finds calls; a compiled module may replace both. ``ask`` starts to compile it,
    for programs that have used no backend. With ``owned``, the owner clears the calls when plans become invalid.
    """

    key_of, look_up = staticmethod(key_of), staticmethod(_look_up)
    ask: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, *, owned: bool = False) -> None:
        self._runs: dict[Key | None, Run] = {}
        self._of_levels: dict[Level, dict[Key | None, Run]] = {}  # of calls at a level of determinism
        self._apart: dict[Run, Apart] = {}  # of calls with out=
        self._generation = REGISTRY.generation
        if not owned:
            forgets_calls(self.clear)

    def find(self, key: Key | None) -> Run | None:
        """Return the function that runs a call with this key, or None."""
        if self._generation != REGISTRY.generation:
            self.clear()
        try:
            leveled = Asked.ever and (CHOSEN.here.get() or CHOSEN.choices)
            return (self._leveled() if leveled else self._runs).get(key)
        except (TypeError, ValueError):  # a keyword that cannot be hashed
            return None

    def find_into(
        self,
        keywords: Hashable,
        arrays: tuple[Any, ...],
        out: Any,
        device: str | Device | None = None,
        *,
        in_place: bool = False,
    ) -> tuple[Key | None, tuple[Any, ...], Run | None]:
        """Return the key of a call, its arrays and those of ``out=``, and the function that runs it.

        There is no key if an array of ``out=`` overlaps another array. With ``in_place``, ``out`` may be an input.
        """
        if out is None:
            if self._generation != REGISTRY.generation:
                self.clear()
            # Inlined, because a function call would slow down every call once a level was asked for.
            leveled = Asked.ever and (CHOSEN.here.get() or CHOSEN.choices)
            return self.look_up(self._leveled() if leveled else self._runs, keywords, arrays, device)
        given = (*arrays, *out) if type(out) is tuple else (*arrays, out)
        same = tuple([k for k, array in enumerate(arrays) if array is out]) if in_place else ()
        key = self.key_of((keywords, type(out) is tuple, len(arrays), same), given, device)
        if key is None:
            return None, given, None
        if type(key) is GuestKey:
            return self._find_guests(IntoGuestsKey(key), given, len(arrays), same, several=type(out) is tuple)
        run = self.find(key)
        return (key, given, run) if self._lie_apart(run, given, len(arrays), same) else (None, given, None)

    def _find_guests(
        self, key: IntoGuestsKey, given: tuple[Any, ...], inputs: int, same: tuple[int, ...], *, several: bool
    ) -> tuple[Key | None, tuple[Any, ...], Run | None]:
        """Return what :meth:`find_into` does, of a call that writes to tensors; its function takes arrays."""
        run, arrays = self.find(key), as_arrays(given)
        derived = any(getattr(one, "requires_grad", False) for one in given[inputs:])  # torch lets nobody write
        if arrays is None or derived or not self._lie_apart(run, arrays, inputs, same):
            return None, given, None
        return (key, given, None) if run is None else (key, arrays, into_guests(run, given, inputs, several=several))

    def _lie_apart(self, run: Run | None, given: tuple[Any, ...], inputs: int, same: tuple[int, ...]) -> bool:
        """Return True if arrays of ``out=`` share no bytes with others."""
        apart = None if run is None else self._apart.get(run)
        if apart is None:
            apart = Apart(given, inputs, same)
            if run is not None:
                self._apart[run] = apart
        return apart.holds(given)

    def keep(
        self,
        key: Key | None,
        plan: LaunchPlan,
        operands: Operands,
        step: Step | None = None,
        out: Out | None = None,
        back: Callable[[Any], Any] | None = None,
    ) -> None:
        """Keep the plan of a call.

        ``step`` checks or replaces the arrays of later calls; ``back`` converts the result of the plan.
        """
        if key is None or not reads_as_given(key, operands):
            return
        if type(key) is IntoGuestsKey:
            out = None if out is None else out.as_arrays()
        elif out is not None and not out.is_bare:
            return
        run = runner_of(plan, operands, out)
        if step is not None:
            run = _after(step, run)
        if back is not None:
            run = _after(run, back)
        self.keep_run(key, run)

    def keep_run(self, key: Key | None, run: Run) -> None:
        """Keep a function that runs a call, for example by several plans."""
        if key is None:
            return
        if len(runs := self._leveled()) >= _MOST:
            runs.clear()
            self._apart.clear()
        try:
            runs[key] = running_guests(key, run) if type(key) is GuestKey else run
        except (TypeError, ValueError):  # a keyword that cannot be hashed
            return

    def _leveled(self) -> dict[Key | None, Run]:
        """Return the calls at the current level of determinism."""
        level = asked_level()
        return self._runs if level is None else self._of_levels.setdefault(level, {})

    def clear(self) -> None:
        """Forget all calls."""
        self._runs.clear()
        self._of_levels.clear()
        self._apart.clear()
        self._generation = REGISTRY.generation


def reads_as_given(key: Key | None, operands: Operands) -> bool:
    """Return True if a function kept for later calls gets arrays that kernels read as they are."""
    if isinstance(key, GuestKey):  # it gets arrays over the memory of tensors, and its results become tensors
        return operands.in_place or not operands.on_host
    return operands.as_given


def by_value(keyword: Any) -> bool:
    """Return True if a keyword, or each item of a tuple, can be compared by value."""
    kind = type(keyword)
    return kind in AS_GIVEN or (kind is tuple and AS_GIVEN.issuperset(map(type, keyword)))


def runner_of(plan: LaunchPlan, operands: Operands, out: Out | None = None) -> Run:
    """Return a function that runs a plan on arrays like those of a call, followed by the arrays of ``out=``."""
    numbers = numbers_of(operands)
    writes = out is None or (not numbers and type(plan).run_into is LaunchPlan.run_into)
    if writes and (compute := plan.numpys(operands)) is not None:
        run = _by_numpy(compute, plan, operands, out)
        return _after(making_arrays(operands.label, numbers), run) if numbers else run
    return _launching(plan, operands, out)


def computing(device: Device, compute: Compute, otherwise: Run) -> Run:
    """Return a function that computes with NumPy, or by ``otherwise`` if ``compute`` declines the arrays."""
    WarmCalls.ask()
    driver = device.driver

    def run(arrays: Sequence[Any]) -> Any:
        if device.driver is driver:  # after a fork, another driver raises
            found = compute(*arrays)
            if found is not NotImplemented:
                return found
        return otherwise(arrays)

    return run


def _by_numpy(compute: Compute, plan: LaunchPlan, operands: Operands, out: Out | None) -> Run:
    """Return a function that computes with NumPy, or launches kernels if ``compute`` declines the arrays."""
    launching, label, inputs = list[Run](), operands.label, len(operands.natives)

    def launch(given: Sequence[Any]) -> Any:
        if not launching:
            own = Operands(label, plan.device, tuple(given[:inputs]), True, unchanged)
            launching.append(_launching(plan, own, out))
        return launching[0](given)

    return computing(plan.device, compute if out is None else _written(compute, inputs, plan, out), launch)


def _written(compute: Compute, inputs: int, plan: LaunchPlan, out: Out) -> Compute:
    """Return a function that computes with NumPy, and copies the results to the arrays after the inputs."""
    single, several = plan.single, out.several

    def write(*given: np.ndarray) -> Any:
        found = compute(*given[:inputs])
        if found is NotImplemented:
            return found
        for target, result in zip(given[inputs:], (found,) if single else found, strict=True):
            np.copyto(target, result)
        return given[inputs:] if several else given[inputs]

    return write


def _launching(plan: LaunchPlan, operands: Operands, out: Out | None) -> Run:
    """Return a function that launches the kernels of a plan."""
    nbytes = 0  # of the inputs or the results, whichever are larger
    if operands.in_place:
        results = sum([math.prod(form.shape) * form.item for form in plan.results])
        nbytes = max(sum([native.nbytes for native in operands.natives]), results)
    short = 0 < nbytes <= SHORT
    if out is not None:
        run = _into(plan, len(operands.natives), out, in_place=operands.in_place)
    else:
        run = plan.run_in_place if operands.in_place else plan.runner()
    if short:
        run = operands.driver.in_this_thread(run, nbytes)
    take = taking(operands, as_bytes=plan.as_bytes)
    if take is not None:
        run = _after(take, run)
    if not short or out is not None:
        return run
    quick, numbers = plan.runner_in_place(run, nbytes), numbers_of(operands)
    return _after(making_arrays(operands.label, numbers), quick) if numbers and quick is not run else quick


def _into(plan: LaunchPlan, inputs: int, out: Out, *, in_place: bool) -> Run:
    """Return a function that runs a plan and writes to ``out=``."""
    write, several = plan.writer(inputs, in_place=in_place), isinstance(out.given, tuple)

    def run(given: Sequence[Any]) -> Any:
        write(given)
        return tuple(given[inputs:]) if several else given[inputs]

    return run


def _after(step: Callable[[Any], Any], run: Callable[[Any], Any]) -> Run:
    return lambda arrays: run(step(arrays))
