"""Weak and strong scaling of groups of devices: ``python -m bench.scaling --devices cuda:0 cuda:1 cuda:2 cuda:3``.

Weak: each device has as many elements as the one device that it is compared with, so perfect scaling takes the same
time. Strong: the devices share these elements. The time of one device is that of a plain call and of the wait for it,
the mean over the devices, each alone. Runs alternate, and the median counts. Each result is checked before it is timed.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import gpuprims
from gpuprims.distributed import LogReg
from gpuprims.models import LogReg as OneLogReg

# Columns of the image, bins of the histograms, and iterations of LogReg. Later ones are near the optimum, where
# rounding decides how many passes a line search takes, 18 to 30 for eight of these, and some are in float64.
_COLUMNS, _BINS, _ITERATIONS = 1 << 15, (256, 16384), 3


class Work(NamedTuple):
    """A call on all devices, the same on one, how often each is timed, and what is wrong with the result, or ""."""

    name: str
    together: Callable[[], Any]
    alone: Callable[[int], Any]
    runs: int
    fault: Callable[[], str]


def _random(device: gpuprims.Device, shape: tuple[int, ...], kind: Any = "uniform", stream: int = 0) -> Any:
    """Return float32 numbers on a device, other ones for each stream."""
    key = device.asarray(np.array([7, stream], np.uint64))
    return gpuprims.random(key, shape, kind, dtype=np.float32)


def _close(found: Any, wanted: Any, tolerance: float) -> str:
    """Return what is wrong with numbers."""
    off = float(np.max(np.abs(np.asarray(found, np.float64) - wanted) / np.maximum(np.abs(wanted), 1)))
    return "" if off <= tolerance else f"off by {off:.2g}"


class Numbers(NamedTuple):
    """Uniform numbers, as many on each device, and the sum of those of each."""

    group: gpuprims.DeviceGroup
    x: Any
    totals: list[float]

    @classmethod
    def of(cls, group: gpuprims.DeviceGroup, count: int) -> Numbers:
        """Draw numbers."""
        x = group.from_shards([_random(one, (count,), stream=k) for k, one in enumerate(group.devices)])
        sums = (gpuprims.reduce(x.shards[k], dtype=np.float64) for k in range(len(group.devices)))
        return cls(group, x, [float(one.to_host(total)) for one, total in zip(group.devices, sums, strict=True)])

    def alone(self, call: Callable[..., Any]) -> Callable[[int], Any]:
        """Return the call on the numbers of one device, with the wait for its result on the host."""
        devices, x = self.group.devices, self.x
        return lambda k: devices[k].to_host(call(x.shards[k], device=devices[k]))

    def image(self) -> Any:
        """Return the numbers in rows."""
        rows = self.x.shards[0].size // _COLUMNS
        return self.group.from_shards([one[: rows * _COLUMNS].reshape(rows, _COLUMNS) for one in self.x.shards])


def elements_of(group: gpuprims.DeviceGroup, count: int) -> list[Work]:
    """Return the works on ``count`` uniform numbers a device."""
    numbers = Numbers.of(group, count)
    return [_sum(numbers), *(_histogram(numbers, bins) for bins in _BINS), _scan(numbers), _blur(numbers)]


def _sum(numbers: Numbers) -> Work:
    group, x, totals = numbers

    def fault() -> str:
        return _close(group.reduce(x), sum(totals), 1e-4)

    return Work("sum", lambda: group.reduce(x), numbers.alone(gpuprims.reduce), 20, fault)


def _histogram(numbers: Numbers, bins: int) -> Work:
    group, x, _ = numbers
    how: dict[str, Any] = {"bins": bins, "range": (0, 1)}

    def fault() -> str:
        shards = zip(group.devices, x.shards, strict=True)
        wanted = sum(one.to_host(gpuprims.histogram(shard, **how)[0]) for one, shard in shards)
        return "" if np.array_equal(group.histogram(x, **how)[0], wanted) else "other counts"

    def alone(shard: Any, **where: Any) -> Any:
        return gpuprims.histogram(shard, **how, **where)[0]

    return Work(f"histogram, {bins} bins", partial(group.histogram, x, **how), numbers.alone(alone), 20, fault)


def _scan(numbers: Numbers) -> Work:
    group, x, totals = numbers
    devices, many = group.devices, min(x.shards[0].size, 1000)

    def fault() -> str:
        """Compare the beginning of each shard's results with NumPy's, from the total of the shards before."""
        found, before = group.scan(x), 0.0
        for k, one in enumerate(devices):
            own = np.cumsum(one.to_host(x.shards[k][:many]), dtype=np.float64) + before
            if wrong := _close(one.to_host(found.shards[k][:many]), own, 1e-4):
                return f"shard {k}: {wrong}"
            before += totals[k]
        return _close(devices[-1].to_host(found.shards[-1][-1:]), before, 1e-4)

    def alone(k: int) -> None:
        gpuprims.scan(x.shards[k], device=devices[k])
        devices[k].synchronize()

    return Work("scan", lambda: _waited(group, group.scan(x)), alone, 10, fault)


def _blur(numbers: Numbers) -> Work:
    devices, image = numbers.group.devices, numbers.image()
    how: dict[str, Any] = {"kind": "gaussian", "sigma": 1.0}

    def fault() -> str:
        """Compare rows beside each cut with those of the reference."""
        found = numbers.group.blur(image, **how)
        for k in range(len(devices) - 1):
            near = [devices[k].to_host(image.shards[k][-12:]), devices[k + 1].to_host(image.shards[k + 1][:12])]
            wanted = gpuprims.blur(np.concatenate(near)[:, :256].astype(float), **how, device="reference")
            both = [devices[k].to_host(found.shards[k][-6:]), devices[k + 1].to_host(found.shards[k + 1][:6])]
            if wrong := _close(np.concatenate(both)[:, :200], wanted[6:18, :200], 1e-5):
                return f"cut {k}: {wrong}"
        return ""

    def together() -> Any:
        return _waited(numbers.group, numbers.group.blur(image, **how))

    def alone(k: int) -> None:
        gpuprims.blur(image.shards[k], **how, device=devices[k])
        devices[k].synchronize()

    return Work("blur, Gaussian, sigma 1", together, alone, 10, fault)


def _waited(group: gpuprims.DeviceGroup, result: Any) -> Any:
    for device in group.devices:
        device.synchronize()
    return result


def fits_of(group: gpuprims.DeviceGroup, count: int, features: int) -> list[Work]:
    """Return a fit of so many samples a device, and of a few, whose optimum is compared with scikit-learn's."""
    devices, weights = group.devices, np.random.default_rng(0).standard_normal(features).astype(np.float32)

    def samples(k: int, rows: int) -> tuple[Any, Any]:
        X, noise = _random(devices[k], (rows, features), "normal", k), _random(devices[k], (rows,), "normal", k + 100)
        scores = gpuprims.reduce(X, devices[k].asarray(weights), map="x*w", axis=1)
        return X, gpuprims.map(lambda z, e: (z + 8 * e > 0).astype(np.int32), scores, noise)

    parts = [samples(k, count) for k in range(len(devices))]
    X, y = (group.from_shards([part[k] for part in parts]) for k in range(2))
    how: dict[str, Any] = {"solver": "lbfgs", "max_iter": _ITERATIONS, "tol": 0.0}

    def fault() -> str:
        few = [samples(k, 20_000) for k in range(len(devices))]
        own = [group.from_shards([part[k] for part in few]) for k in range(2)]
        model = LogReg(tol=1e-6).fit(*own)
        one = OneLogReg(device="reference", solver="lbfgs", tol=1e-6).fit(own[0].gather(), own[1].gather())
        return _close(model.coef_, one.coef_, 1e-3)

    def together() -> Any:
        return LogReg(**how).fit(X, y)

    def alone(k: int) -> Any:
        return OneLogReg(device=devices[k], **how).fit(X.shards[k], y.shards[k])

    return [Work(f"LogReg, {count:,} x {features}, {_ITERATIONS} iterations", together, alone, 3, fault)]


def timed(work: Work, devices: Sequence[Any], *, alone: bool) -> tuple[float, float]:
    """Return the seconds of all devices together, and of one alone, or 0."""
    together, single = list[float](), list[float]()
    for run in range(work.runs + 2):
        singles = [_seconds(partial(work.alone, k)) for k in range(len(devices) if alone else 0)]
        both = _seconds(work.together)
        if run >= 2:
            together.append(both)
            single.append(mean(singles or [0]))
    return median(together), median(single)


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class Row(NamedTuple):
    """A line of the table: seconds of n devices, and of one with as many elements a device, or with all of them."""

    work: str
    kind: str
    devices: int
    together: float
    alone: float

    @property
    def efficiency(self) -> float:
        """Of n times one device."""
        return self.alone / self.together / (1 if self.kind == "weak" else self.devices)


def measured(devices: Sequence[gpuprims.Device], sizes: dict[str, int], *, strong: bool) -> Iterator[tuple[Row, str]]:
    """Yield the rows of a number of devices, each with what is wrong with the result, or "right"."""
    group, n = gpuprims.DeviceGroup(devices), len(devices)
    for make, keys in ((elements_of, ("elements",)), (fits_of, ("samples", "features"))):
        alone: dict[str, float] = {}
        for kind in ("weak", "strong")[: 1 + strong]:
            share = [sizes[key] if kind == "weak" or key == "features" else sizes[key] // n for key in keys]
            works: list[Work] = make(group, *share)
            for work in works:
                name = work.name.split(", ")[0] if work.name.startswith("LogReg") else work.name
                fault = work.fault() or "right"
                together, one = timed(work, group.devices, alone=kind == "weak")
                alone[name] = one or alone[name]
                yield Row(name, kind, n, together, alone[name]), fault
            del works, work


def main() -> None:
    """Print a line for each work."""
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=__doc__)
    parser.add_argument("--devices", nargs="+", required=True, help="such as cuda:0 cuda:1")
    parser.add_argument("--counts", nargs="+", type=int, help="how many of them; by default all")
    parser.add_argument("--elements", type=int, default=1 << 30, help="float32 numbers a device")
    parser.add_argument("--samples", type=int, default=10_000_000, help="rows a device")
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--strong", action="store_true", help="strong scaling, too")
    parser.add_argument("--json", type=Path, help="a file for the rows")
    given = parser.parse_args()
    counts = given.counts or [len(given.devices)]
    if given.elements < 24 * _COLUMNS * max(counts):
        parser.error(f"--elements: {24 * _COLUMNS * max(counts):,} or more, for an image; got {given.elements:,}")
    devices = [gpuprims.Device(spec) for spec in given.devices]
    sizes = {key: getattr(given, key) for key in ("elements", "samples", "features")}
    print(f"{devices[0].capabilities.name}; {sizes} a device, or of all in strong scaling", flush=True)
    print(f"{'work':32}{'':8}{'devices':>8}{'together':>12}{'one alone':>12}{'of n times one':>16}  check", flush=True)
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for count in counts:
        for row, fault in measured(devices[:count], sizes, strong=given.strong):
            times = f"{1e3 * row.together:9.3f} ms{1e3 * row.alone:9.3f} ms{row.efficiency:15.1%}"
            print(f"{row.work:32}{row.kind:8}{row.devices:8}{times}  {fault}", flush=True)
            rows.append(row._asdict())
    if given.json:
        given.json.write_text(json.dumps({"device": devices[0].capabilities.name, **sizes, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
