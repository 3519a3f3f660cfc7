"""Targets and their results. The figures come from peers and probes on one day, on the named devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Target:
    """A bound for a value of a row, on a device.

    ``measure`` is "TB/s", "Gkeys/s", "us" or "ms" by the device's clock, "us waited" or "s waited" by the wall clock of
    one call, "it/s", or "x NAME", the speed relative to another contender of the same run by the wall clock. ``on`` is
    a part of the device's name or its kind, and the backend or "" for any.
    """

    on: tuple[str, str]
    case: str
    size: int
    measure: str
    bound: float
    contender: str = "gpuprims"

    @property
    def at_most(self) -> bool:
        return self.measure.split()[0] in ("us", "s", "ms")

    def __str__(self) -> str:
        return f"{'<=' if self.at_most else '>='} {self.bound:,g} {self.measure}"


_H200, _CUDA, _OPENCL = ("H200", ""), ("H200", "cuda"), ("H200", "opencl")
_CPU = ("cpu", "opencl")
_HOST = "gpuprims, NumPy array"
_MILLION = 10**6


def _ordered() -> Iterator[Target]:
    """Yield the targets of sorts, selections and groups: through CUDA, and through OpenCL."""
    keys = {"sort uint32": (85, 45), "argsort float32": (38, 22), "sort pairs": (38, 22), "sort uint64": (24, 14)}
    keys |= dict.fromkeys(("sort int32", "sort float32"), (85, 45)) | {"sort uint8": (400, 300)}
    others = ("sort float32, normal", "sort uint32, narrow", "sort uint32, few", "sort uint32, skewed")
    keys |= dict.fromkeys(others, (60, 45)) | {"sort uint32, sorted": (75, 45)}
    times = {
        ("sort uint32", 2**20): (0.036, 0.06), ("sort uint32", 2**24): (0.235, 0.3),
        ("top_k 10", 2**28): (0.31, 0.36), ("top_k 1000", 2**28): (0.31, 0.36),
        ("top_k 10", 2**20): (0.034, 0.05), ("top_k 1000", 2**20): (0.034, 0.05),
        ("top_k rows of 8192", 2**24): (0.06, 0.1),
        ("unique, 1,000 distinct", 2**28): (2, 2), ("unique, all distinct", 2**28): (6, 6),
        ("reduce by 1,000 keys", 2**24): (0.15, 0.25), ("reduce by 10^6 keys", 2**24): (0.5, 0.8),
        ("median", 2**28): (0.8, 1.2), ("searchsorted", 2**24): (1.2, 1.5),
    }  # fmt: skip
    for number, on in enumerate((_CUDA, _OPENCL)):
        yield from (Target(on, case, 2**28, "Gkeys/s", bounds[number]) for case, bounds in keys.items())
        yield from (Target(on, case, size, "ms", bounds[number]) for (case, size), bounds in times.items())
        yield Target(on, "sort segments of 100", 2**26, "Gkeys/s", 8)


def _levels() -> Iterator[Target]:
    """Yield the targets of levels of determinism."""
    speeds = {
        ("reduce sum, device", 2**30): 4.3, ("reduce sum, order", 2**30): 4.0,
        ("reduce sum of float64, order", 2**28): 3.8, ("scan sum, device", 2**30): 3.6, ("scan sum, order", 2**30): 3.0,
        ("bincount weights, order", 2**30): 2.5, ("map exp, device", 2**30): 4.1,
    }  # fmt: skip
    yield from (Target(_H200, case, size, "TB/s", bound) for (case, size), bound in speeds.items())


TARGETS = (
    Target(_H200, "map 2*x+1", 2**28, "TB/s", 4.2),
    Target(_H200, "reduce sum", 2**30, "TB/s", 4.5),
    Target(_H200, "reduce sum", 2**24, "TB/s", 3.1),
    Target(_H200, "reduce argmax", 2**28, "TB/s", 4.4),
    *(Target(_CUDA, "scan sum", 2**power, "TB/s", 4.0) for power in (28, 30)),
    *(Target(_OPENCL, "scan sum", 2**power, "TB/s", 3.7) for power in (28, 30)),
    Target(_H200, "scan sum", 2**20, "us", 11),
    Target(_H200, "histogram 256", 2**30, "TB/s", 4.4),
    Target(_H200, "histogram 256, skewed", 2**28, "TB/s", 4.4),
    Target(_H200, "histogram 256, all alike", 2**28, "TB/s", 4.4),
    Target(_H200, "histogram 16384", 2**28, "TB/s", 4.2),
    Target(_H200, "histogram 256 of bytes", 2**30, "TB/s", 4.0),
    Target(_H200, "blur cross", 2**28, "TB/s", 3.9),
    Target(_H200, "blur box 9", 2**28, "TB/s", 3.5),
    Target(_H200, "blur gaussian 2", 2**28, "TB/s", 3.0),
    Target(_H200, "blur cross of bytes", 2**28, "TB/s", 3.8),
    Target(_H200, "logistic descent", 2048, "it/s", 2.2 * _MILLION),
    Target(_H200, "logistic gradient, 100 features", 10 * _MILLION, "ms", 1.05),
    Target(_CUDA, "warm call, reduce sum", 1000, "us waited", 14),
    Target(_CUDA, "warm call, reduce sum", 1000, "x CuPy", 1),
    Target(_OPENCL, "warm call, reduce sum", 1000, "us waited", 30),
    Target(_CUDA, "warm call to a Python float", 1000, "us waited", 16, "gpuprims plan.item()"),
    Target(_H200, "first call of a process", 1000, "s waited", 0.3, "gpuprims, empty cache"),
    Target(_H200, "first call of a process", 1000, "s waited", 0.05, "gpuprims, cache on the disk"),
    Target(_CPU, "map 2*x+1", 2**26, "x NumPy", 1.8, _HOST),
    Target(_CPU, "reduce sum", 2**26, "x NumPy", 3, _HOST),
    Target(_CPU, "reduce sum", 2**26, "x numba", 1, _HOST),
    Target(_CPU, "scan sum", 2**26, "x NumPy", 8, _HOST),
    Target(_CPU, "histogram 256", 2**26, "x NumPy", 15, _HOST),
    Target(_CPU, "logistic descent", 2048, "x NumPy", 3),
    Target(_CPU, "logistic gradient, 100 features", _MILLION, "x NumPy", 3, _HOST),
    Target(_CPU, "fit by lbfgs", _MILLION, "x scikit-learn", 3, _HOST),
    *_ordered(),
    *_levels(),
    Target(_CPU, "sort uint32", 2**24, "x NumPy", 3, _HOST),
    Target(_CPU, "argsort float32", 2**24, "x NumPy", 5, _HOST),
    Target(_CPU, "top_k 10", 2**24, "x NumPy", 3, _HOST),
    Target(_CPU, "unique, 1,000 distinct", 2**24, "x NumPy", 5, _HOST),
)

# The value of a row in the unit of each measure.
_VALUES: dict[str, Callable[[dict[str, Any]], float]] = {
    "TB/s": lambda row: row["bytes"] / row["device_s"] / 1e12,
    "us": lambda row: row["device_s"] * 1e6,
    "ms": lambda row: row["device_s"] * 1e3,
    "us waited": lambda row: row["wall_s"] * 1e6,
    "s waited": lambda row: row["wall_s"],
    "Gkeys/s": lambda row: row["size"] / row["device_s"] / 1e9,
    "it/s": lambda row: row["steps"] / row["wall_s"],
}


@dataclass(frozen=True)
class Verdict:
    """A target, the measured value or None, and True if the value reaches the target."""

    target: Target
    got: float | None

    @property
    def word(self) -> str:
        if self.got is None:
            return "not measured"
        reached = self.got <= self.target.bound if self.target.at_most else self.got >= self.target.bound
        return "reached" if reached else "missed"


def verdicts(report: dict[str, Any]) -> Iterator[Verdict]:
    """Return the result of each target of the report's device."""
    device = report["device"]
    for target in TARGETS:
        named, backend = target.on
        if (named in device["name"] or named == device["kind"]) and backend in ("", device["backend"]):
            yield Verdict(target, _got(target, report["rows"]))


def _got(target: Target, rows: Rows) -> float | None:
    at = {row["contender"]: row for row in rows if (row["case"], row["size"]) == (target.case, target.size)}
    ours = at.get(target.contender)
    if ours is None:
        return None
    if target.measure in _VALUES:
        return _VALUES[target.measure](ours)
    other = at.get(target.measure.removeprefix("x "))
    return None if other is None else float(other["wall_s"] / ours["wall_s"])
