"""The measured cases, the same for every backend: works, their sizes, and the fewest bytes that they must move."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import gpuprims

from . import calls, oracles
from .elements import Elements, Samples
from .fits import FIT_SIZES, FITS
from .model_works import MODEL_SIZES, MODELS
from .oracles import CROSS, EDGES
from .ordered_works import ORDERED, ORDERED_SIZES
from .works import Case, Sizes, Work, powers

__all__ = ["CROSS", "RATE", "SIZES", "STEPS", "WORKS", "Case", "Work", "cases", "matches"]

# Gradient descent: the learning rate, and the iterations per call.
RATE, STEPS = 1e-3, 10_000


def _reduce(name: str, op: str = "sum", shape: str | int = "line", axis: int | None = None, **how: Any) -> Work:
    peers: dict[str, Callable[..., Any]] = {"sum": partial(np.sum, axis=axis), "max": np.max, "argmax": np.argmax}
    expect = partial(oracles.float64_sum, axis=axis) if op == "sum" else None
    call = partial(gpuprims.reduce, op=op, axis=axis)
    check = oracles.near_sum if op == "sum" else oracles.exact
    inputs = Elements(shape=shape)
    return Work(name, "reduce", 4, call, peers[op], check, expect, inputs, limit="read", op=op, **how)


def _scan(name: str, numpys: Callable[..., Any] = np.cumsum, expect: Any = oracles.running_sum, **how: Any) -> Work:
    inputs = how.pop("inputs", Elements(spread="steps"))
    scanned = {"inclusive": how.pop("inclusive", True), "axis": how.pop("axis", None), "op": how.get("op", "sum")}
    call = partial(calls.scan, dtype=inputs.dtype, **scanned)
    return Work(name, "scan", 2 * np.dtype(inputs.dtype).itemsize, call, numpys, expect=expect, inputs=inputs, **how)


def _histogram(name: str, bins: Any, inputs: Elements | None = None, **how: Any) -> Work:
    numpys, call = partial(oracles.counts, bins), partial(calls.histogram, bins=bins)
    given: dict[str, Any] = {"expect": partial(oracles.added_up, numpys), "inputs": inputs or Elements()}
    nbytes = np.dtype(given["inputs"].dtype).itemsize
    return Work(name, "histogram", nbytes, call, numpys, limit="read", bins=bins, **given, **how)


def _bincount(dtype: str, **how: Any) -> Work:
    nbytes, expect = np.dtype(dtype).itemsize, partial(oracles.added_up, np.bincount)
    given: dict[str, Any] = {"inputs": Elements(dtype), "limit": "read", "expect": expect}
    return Work(f"bincount {dtype}", "bincount", nbytes, gpuprims.bincount, np.bincount, **given, **how)


def _blur(name: str, scipys: Callable[[np.ndarray], np.ndarray], inputs: Elements | None = None, **how: Any) -> Work:
    call, inputs = partial(calls.blur, **how), inputs or Elements(shape="square")
    nbytes = 2 * np.dtype(inputs.dtype).itemsize * int(how.get("iterations", 1))
    expect = partial(oracles.first_and_last, scipys)
    sizes = "more" if "iterations" in how else "square"
    return Work(name, "blur", nbytes, call, scipys, oracles.near_blur, expect, inputs, sizes, library="SciPy")


def _logistic(columns: int, sizes: str) -> Work:
    given: dict[str, Any] = {"expect": oracles.loss_gradient_in_float64, "inputs": Samples(columns), "limit": "read"}
    name, nbytes = f"logistic gradient, {columns} features", 4 * (columns + 1)
    numpys, check = oracles.loss_gradient, oracles.near_gradient
    return Work(name, "logistic", nbytes, calls.gradient, numpys, check, sizes=sizes, **given)


def _descent() -> Work:
    numpys, expect = (partial(way, RATE, STEPS) for way in (oracles.descended, oracles.descended_in_float64))
    call, inputs = partial(calls.descend, rate=RATE, steps=STEPS), Samples(8, at_zero=True)
    how: dict[str, Any] = {"inputs": inputs, "sizes": "descent", "limit": "", "steps": STEPS}
    return Work("logistic descent", "descent", 0, call, numpys, oracles.near_weights, expect, **how)


def _at_level(work: Work, level: str) -> Work:
    """Return a work at a level of determinism."""
    call = partial(work.call, determinism=level)
    sizes = "levels" if work.sizes == "sweep" else work.sizes
    return replace(work, name=f"{work.name}, {level}", primitive="levels", call=call, sizes=sizes)


_SUMS, _SCANS = (build(name, sizes="sweep") for build, name in ((_reduce, "reduce sum"), (_scan, "scan sum")))
_EXP = Work("map exp", "map", 8, partial(gpuprims.map, "exp(x)"), np.exp, oracles.near_map, sizes="levels")
_WEIGHTS = Work(
    *("bincount weights", "bincount", 8, gpuprims.bincount, np.bincount, oracles.near_sum),
    inputs=Elements("int32", beside="elements"),
    limit="read",
    sizes="levels",
)
_DOUBLES = replace(_SUMS, name="reduce sum of float64", nbytes=8, inputs=Elements("float64"), sizes="more")
_GRADIENTS = _logistic(100, "gradient 100")
_EVERY_32 = Elements(spread="steps", beside="segments")
_HALF, _BYTES = Elements(beside="mask"), Elements("uint8", shape="pixels")

WORKS = (
    Work("map 2*x+1", "map", 8, calls.double, lambda x: 2 * x + 1, expect=oracles.doubled, sizes="sweep"),
    *(_SUMS, *(_at_level(_SUMS, level) for level in ("device", "order"))),
    *(_DOUBLES, _at_level(_DOUBLES, "order")),
    *(_EXP, _at_level(_EXP, "device")),
    _reduce("reduce max", "max"),
    _reduce("reduce argmax", "argmax", sizes="main"),
    _reduce("reduce columns", shape="square", axis=0),
    _reduce("reduce rows of 16", shape=16, axis=1),
    _reduce("reduce rows of 256", shape=256, axis=1),
    *(_SCANS, *(_at_level(_SCANS, level) for level in ("device", "order"))),
    _scan("scan sum, exclusive", oracles.before, None, inclusive=False),
    _scan("scan max", np.maximum.accumulate, None, op="max", inputs=Elements()),
    _scan("scan sum of float64", inputs=Elements("float64", "steps")),
    _scan("scan sum of int32", partial(np.cumsum, dtype=np.int32), inputs=Elements("int32", "steps")),
    _scan("scan rows", partial(np.cumsum, axis=1), None, axis=1, inputs=Elements(spread="steps", shape="square")),
    _scan("scan columns", partial(np.cumsum, axis=0), None, axis=0, inputs=Elements(spread="steps", shape="square")),
    _scan("scan segments", oracles.within_segments, None, inputs=_EVERY_32),
    Work("reduce segments", "segments", 4, calls.segments, oracles.of_segments, inputs=_EVERY_32, limit="read"),
    Work("compact by a mask", "compact", 7, gpuprims.compact, lambda x, mask: x[mask], inputs=_HALF),
    Work("compact by a function", "compact", 6, calls.keep, lambda x: x[x > 0.5]),
    _histogram("histogram 256", 256, sizes="sweep"),
    _histogram("histogram 256, skewed", 256, Elements(spread="skewed")),
    _histogram("histogram 256, all alike", 256, Elements(spread="alike")),
    _histogram("histogram 16384", 16_384, sizes="main"),
    _histogram("histogram 16384, skewed", 16_384, Elements(spread="skewed")),
    _histogram("histogram 49152", 49_152),
    _histogram("histogram 1048576", 2**20),
    _histogram("histogram 256 edges", EDGES),
    _histogram("histogram 256 of bytes", 256, Elements("uint8"), sizes="main"),
    _bincount("int32"),
    _bincount("int64"),
    _bincount("uint8", sizes="main"),
    *(_WEIGHTS, _at_level(_WEIGHTS, "order")),
    _blur("blur cross", oracles.cross, kind="cross"),
    _blur("blur box 9", oracles.box_9, kind="box", size=9),
    _blur("blur gaussian 2", oracles.gaussian_2, kind="gaussian", sigma=2),
    _blur("blur cross, twice", oracles.cross_twice, kind="cross", iterations=2),
    _blur("blur cross of bytes", oracles.cross, _BYTES, kind="cross"),
    _descent(),
    *(_GRADIENTS, _at_level(_GRADIENTS, "device")),
    _logistic(1024, "gradient 1024"),
    *FITS,
    *MODELS,
    *ORDERED,
)


SIZES = {
    "sweep": Sizes(
        powers(10, 14, 18, 22, 24), powers(*range(10, 27, 2)), powers(10, 14, 20, 24, 26), powers(*range(10, 31, 2))
    ),
    "main": Sizes(powers(22), powers(24, 26), powers(26), powers(28, 30)),
    "levels": Sizes((), powers(24), (), powers(28, 30)),
    "square": Sizes(powers(22), powers(24), powers(26), powers(28)),
    "more": Sizes((), powers(24), (), powers(28)),
    "descent": Sizes((2048,), (2048,), (2048,), (2048,)),
    "gradient 100": Sizes((10**5,), (10**6,), (10**6,), (10**6, 10**7)),
    "gradient 1024": Sizes((), (10**5,), (10**5,), (10**6,)),
    **FIT_SIZES,
    **MODEL_SIZES,
    **ORDERED_SIZES,
}


def cases(device: gpuprims.Device, *, full: bool) -> Iterator[Case]:
    """Return every work at the sizes that fit in a device's memory, small ones first."""
    able = device.capabilities
    kind = ("cpu" if able.kind == "cpu" else "gpu") + ("_full" if full else "")
    found = [Case(work, size) for work in WORKS for size in getattr(SIZES[work.sizes], kind)]
    for case in sorted(found, key=lambda case: case.size):
        columns = getattr(case.work.inputs, "columns", 1)
        needed = 3 * np.dtype(case.work.inputs.dtype).itemsize * columns * case.size
        if not able.memory or needed < able.memory:  # 0: unknown, as for the reference
            yield case


def matches(label: str, patterns: str | None) -> bool:
    """Return True if a label contains one of the patterns, separated by semicolons; ``*`` and ``?`` are wildcards."""
    if not patterns:
        return True
    return any(fnmatch.fnmatch(label.lower(), f"*{pattern.strip().lower()}*") for pattern in patterns.split(";"))
