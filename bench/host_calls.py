"""What a warm call of each function costs the host: Python calls, memory, and time by part, on an OpenCL CPU.

``python -m bench.host_calls`` prints the tables of docs/host-overhead.md; ``GPUPRIMS_C_MODULES=off`` those without C.
"""

from __future__ import annotations

import cProfile
import pstats
import statistics
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

import gpuprims

_SIZE, _CALLS, _ROUNDS = 1000, 200, 15
_WEIGHTS = np.array([[1, 2, 1], [2, 3, 2], [1, 1, 2]]) / np.float32(16)
_OFFSETS = np.array([0, 0, 500, 1000])
# Function, arguments before and after the array, keywords, and the array: elements, numbers or an image.
CASES: dict[str, tuple[str, tuple[Any, ...], tuple[Any, ...], dict[str, Any], str]] = {
    "map": ("map", ("2*x + 1",), (), {}, "x"),
    "reduce": ("reduce", (), (), {}, "x"),
    "reduce, segments": ("reduce", (), (), {"segments": _OFFSETS}, "x"),
    "scan": ("scan", (), (), {}, "x"),
    "scan, segments": ("scan", (), (), {"segments": _OFFSETS}, "x"),
    "compact": ("compact", (), ("x > 0.5",), {}, "x"),
    "histogram": ("histogram", (), (), {}, "x"),
    "histogram, range": ("histogram", (), (256, (0, 1)), {}, "x"),
    "bincount": ("bincount", (), (), {}, "numbers"),
    "stencil": ("stencil", (), (_WEIGHTS,), {}, "image"),
    "blur": ("blur", (), (), {}, "image"),
}
Call = Callable[[], Any]


def arrays() -> dict[str, np.ndarray]:
    """Return the arrays by name."""
    rng = np.random.default_rng(0)
    x = rng.random(_SIZE, dtype=np.float32)
    return {"x": x, "numbers": rng.integers(0, 100, _SIZE), "image": x.reshape(25, 40)}


def calls_of(name: str, device: gpuprims.Device) -> dict[str, Call]:
    """Return a call on an array of the device, one on a NumPy array, and both by plans."""
    function, before, after, how, kind = CASES[name]
    found = dict[str, Call]()
    for label, array in (("device", device.asarray(arrays()[kind])), ("NumPy", arrays()[kind])):
        found[label] = _calling(getattr(gpuprims, function), (*before, array, *after), how)
        found[f"{label}, plan"] = _calling(gpuprims.plan(function, *before, array, *after, **how), (array,), {})
    return found


def _calling(function: Callable[..., Any], arguments: tuple[Any, ...], how: dict[str, Any]) -> Call:
    return lambda: function(*arguments, **how)


def python_calls(call: Call) -> int:
    """Return how many functions of Python a call runs, without its own frame: the least of a few."""
    return min(len(_frames(call)) for _ in range(5)) - 1


def _frames(call: Call) -> list[str]:
    seen = list[str]()

    def hook(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            seen.append(frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else frame.f_code.co_name)

    sys.setprofile(hook)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


def times(calls: dict[str, Call]) -> dict[str, float]:
    """Return microseconds a call, the medians of rounds in which the calls take turns."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(_ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(_CALLS):
                call()
            found[name].append((time.perf_counter() - start) / _CALLS * 1e6)
    return {name: statistics.median(walls) for name, walls in found.items()}


def parts(name: str, device: gpuprims.Device) -> dict[str, float]:
    """Return the functions of Python that take most of a call on a NumPy array, as shares of its time."""
    call, profile = calls_of(name, device)["NumPy"], cProfile.Profile()
    for _ in range(_CALLS):
        call()
    profile.enable()
    for _ in range(_CALLS):
        call()
    profile.disable()
    stats: Any = pstats.Stats(profile)
    own = {where[2]: line[2] for where, line in stats.stats.items() if where[0] != __file__}
    longest = sorted(own, key=lambda function: -own[function])[:4]
    return {function: own[function] / stats.total_tt for function in longest}


def main() -> None:
    """Print the tables."""
    device = gpuprims.Device("opencl:cpu")
    labels = ("device", "device, plan", "NumPy", "NumPy, plan")
    print(f"{device.capabilities.name}, {device.capabilities.driver}\n")
    with gpuprims.use_device(device):
        print(f"| Python calls | {' | '.join(labels)} |\n| --- | {'--- | ' * len(labels)}")
        for name in CASES:
            own = calls_of(name, device)
            for call in own.values():
                for _ in range(20):
                    call()
            device.synchronize()
            print(f"| {name} | {' | '.join(str(python_calls(own[label])) for label in labels)} |")
        print()
        print(f"| us a call | {' | '.join(labels)} |\n| --- | {'--- | ' * len(labels)}")
        for name in CASES:
            own = calls_of(name, device)
            found = times({label: own[label] for label in labels})
            device.synchronize()
            print(f"| {name} | {' | '.join(f'{found[label]:.1f}' for label in labels)} |")
        print("\n| NumPy, by functions | share of the time |\n| --- | --- |")
        for name in CASES:
            said = ", ".join(f"{function} {share:.0%}" for function, share in parts(name, device).items())
            print(f"| {name} | {said} |")


if __name__ == "__main__":
    main()
