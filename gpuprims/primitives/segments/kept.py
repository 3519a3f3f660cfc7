"""Plans that keep offsets for a function that folds or orders segments in several launches."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out
from gpuprims.core.planned import Planned
from gpuprims.core.plans import OUT_OF_CALLS
from gpuprims.core.primitive import Planner
from gpuprims.errors import ArgumentError
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.steps import StepsPlan

# Why a plan takes no keys.
BY_KEYS = "each call waits for the number of its keys"


def keeping_offsets(name: str, module: str, planner: Planner, *, along: bool = False) -> Planner:
    """Return a planner that takes ``segments=`` too; with ``along``, only where there is an axis.

    The function is found by the name of its module, which has the planner.
    """

    def plan(arrays: tuple[Any, ...], keywords: dict[str, Any]) -> Planned:
        keywords = dict(keywords)
        offsets = keywords.pop("segments", None)
        if along and (offsets is None or keywords.get("axis") is None):
            found: Planned = planner.plan(arrays, keywords | ({} if offsets is None else {"segments": offsets}))
            return found
        first: Planned = planner.plan(arrays, keywords)
        if offsets is None:
            return first
        if keywords.get("out") is not None:
            raise ArgumentError(f"plan of {name}: no out= with segments=, because {OUT_OF_CALLS}; got one")
        return _by_calls(name, module, first, _on_host(name, offsets), arrays, keywords)

    refused = {keyword: reason for keyword, reason in planner.refused.items() if keyword != "segments"}
    return planner._replace(plan=plan, more=(*{*planner.more, "segments"},), refused=refused)


def _on_host(label: str, offsets: Any) -> np.ndarray:
    """Return a copy of offsets that nobody else can write to."""
    operands = as_operands(label, (offsets,), None)
    (array,) = operands.natives
    if not isinstance(array, np.ndarray):  # pyopencl only reads contiguous arrays
        array = operands.to_host(map_arrays("x", array, device=operands.device))
    return np.array(array, order="C")


def _by_calls(
    name: str, module: str, first: Planned, offsets: np.ndarray, arrays: tuple[Any, ...], keywords: dict[str, Any]
) -> Planned:
    """Describe calls of the function, whose first launch is like that of a plan without segments."""
    masked = keywords.pop("where", None) is not None
    given = len(first.operands.natives) - masked
    how = {key: one for key, one in keywords.items() if key != "device"} | {"segments": offsets}

    def steps(operands: Operands, out: Out | None) -> Any:
        natives = operands.natives
        beside = {"where": natives[-1]} if masked else {}
        function = getattr(import_module(module), name)
        found = function(*natives[:given], *arrays[given:], device=operands.device, **how, **beside)
        results = found if isinstance(found, tuple) else (found,)
        back = to_out(operands, results, out, (None,) * len(results))
        return back if isinstance(found, tuple) else back[0]

    return Planned(name, first.operands, None, StepsPlan.of(name, first.launch_plan, steps))
