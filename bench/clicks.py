"""Rows a second of logistic regression in Criteo's shape: ``python -m bench.clicks --devices cuda:0 cuda:1``.

A row has 39 features of 2^20, which a hash of the row's number gives, so nothing is read from a disk. They are uniform:
caches help less than with real ones. In each step every device computes the gradient of its rows by take, reduce and
histogram, and ``all_reduce`` adds the gradients on every device, which keeps the weights. Nothing in a step waits for a
device, so one thread starts the work of all; bincount would wait for the largest number, and take for its check. The
first gradient is checked with NumPy before an epoch is timed. The time for 4.2 billion rows is computed from the rate,
not measured.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import gpuprims

FIELDS, FEATURES = 39, 1 << 20
# Rows of the article and its time on 16 V100 (C. Duenner et al., "Snap ML: a hierarchical framework for machine
# learning", 2018), and the devices that the computed time is for.
ALL_ROWS, SNAP_ML, COMPUTED_FOR = 4.2e9, 91.5, 8
# Step along the mean gradient. A feature occurs in 39 of 2^20 rows, so curvatures are small.
_RATE = 20_000.0
_ODD, _MIX, _MIX_AGAIN = (np.uint64(one) for one in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def hashed(number: Any) -> Any:
    """Return 64 random bits of a number.

    Source: G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number generators", 2014.
    """
    z = number * _ODD
    z = (z ^ (z >> np.uint64(30))) * _MIX
    z = (z ^ (z >> np.uint64(27))) * _MIX_AGAIN
    return z ^ (z >> np.uint64(31))


def feature(row: Any, field: Any, first: Any) -> Any:
    """Return a row's feature in a field."""
    return (hashed((first + row) * np.uint64(FIELDS) + field) >> np.uint64(44)).astype(np.int32)


def chance(row: Any, first: Any) -> Any:
    """Return a number from 0 to 1 that decides about a row's label."""
    return (hashed(~(first + row)) >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)


def repeated(slope: Any, feature: Any) -> Any:
    """Return a row's slope for each of its features."""
    return slope + 0 * feature.astype(np.float32)


def residual(score: Any, true: Any, uniform: Any) -> Any:
    """Return the slope of a row's loss; its label is 1 with the probability of the true score."""
    label = uniform < 1 / (1 + np.exp(-true))
    return 1 / (1 + np.exp(-score)) - label


class Clicks:
    """Blocks of rows on a device."""

    def __init__(self, device: gpuprims.Device, rows: int, truth: np.ndarray, *, repeats: bool = True) -> None:
        self.device, self.rows, self._repeats = device, rows, repeats
        self._rows = device.asarray(np.arange(rows, dtype=np.uint64).reshape(-1, 1))
        self._fields = device.asarray(np.arange(FIELDS, dtype=np.uint64).reshape(1, -1))
        self._truth = device.asarray(truth)
        self._sums: Any = None

    def gradient(self, weights: Any, start: Any) -> Any:
        """Return the summed gradient of some rows, for weights and the number of the first row on the device."""
        features = gpuprims.map(feature, self._rows, self._fields, start, device=self.device)
        scores, true = (self._sum(one, features) for one in (weights, self._truth))
        uniform = gpuprims.map(chance, self._rows.reshape(-1), start, device=self.device)
        slopes = gpuprims.map(residual, scores, true, uniform, device=self.device)
        each = gpuprims.map(repeated, slopes.reshape(-1, 1), features, device=self.device)
        given = features.reshape(-1), each.reshape(-1)
        if self._sums is None:
            how: dict[str, Any] = {"bins": FEATURES, "range": (0, FEATURES), "deterministic": self._repeats}
            self._sums = gpuprims.plan("histogram", given[0], weights=given[1], device=self.device, **how)
        return self._sums(*given)

    def _sum(self, weights: Any, features: Any) -> Any:
        return gpuprims.reduce(
            gpuprims.take(weights, features, mode="clip", device=self.device), axis=1, device=self.device
        )


def gradient_by_numpy(weights: np.ndarray, truth: np.ndarray, rows: int, first: int) -> np.ndarray:
    """Return what :meth:`Clicks.gradient` does, in float64."""
    row, start = np.arange(rows, dtype=np.uint64), np.uint64(first)
    features = feature(row[:, None], np.arange(FIELDS, dtype=np.uint64), start)
    scores, true = (np.asarray(one, np.float64)[features].sum(axis=1) for one in (weights, truth))
    slopes = residual(scores, true, chance(row, start))
    return np.bincount(features.ravel(), np.repeat(slopes, FIELDS), FEATURES)


def epoch(group: gpuprims.DeviceGroup, parts: Sequence[Clicks], rows: int) -> np.ndarray:
    """Return the weights after an epoch of steps from 0, each over a block of every device."""
    weights = group.from_shards([device.asarray(np.zeros(FEATURES, np.float32)) for device in group.devices])
    step = sum(part.rows for part in parts)
    rate = np.float32(_RATE / step)
    firsts = np.arange(0, rows, step, dtype=np.uint64)
    starts = [part.device.asarray(firsts + np.uint64(k * part.rows)) for k, part in enumerate(parts)]
    for number in range(len(firsts)):
        own = [one[number : number + 1] for one in starts]  # a number of the host would wait for the work so far
        slopes = group.launch("clicks", partial(_gradient_on, parts, weights.shards, own), _as_it_is)
        total = group.all_reduce(group.from_shards(slopes))
        weights = group.map("w - rate*g", weights, total, rate)
    return group.devices[0].to_host(weights.shards[0])


def _gradient_on(parts: Sequence[Clicks], weights: Sequence[Any], starts: Sequence[Any], k: int) -> Any:
    return parts[k].gradient(weights[k], starts[k])


def _as_it_is(k: int, found: Any) -> Any:
    return found


def main() -> None:
    """Print the rate of an epoch, and what it means for all rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", nargs="+", default=[""], help="specs, such as cuda:0; by default the best device")
    parser.add_argument("--rows", type=int, default=1 << 21, help="of an epoch")
    parser.add_argument("--block", type=int, default=1 << 18, help="rows of a step on a device")
    parser.add_argument("--atomic", action="store_true", help="sums whose last bits differ from run to run")
    asked = parser.parse_args()
    devices = [gpuprims.Device(spec) if spec else next(iter(gpuprims.devices())) for spec in asked.devices]
    group = gpuprims.DeviceGroup(devices)
    truth = np.random.default_rng(0).standard_normal(FEATURES).astype(np.float32) / 3
    zeros = np.zeros(FEATURES, np.float32)
    parts = [Clicks(device, asked.block, truth, repeats=not asked.atomic) for device in devices]
    wanted = gradient_by_numpy(zeros, truth, asked.block, 7)
    for device, part in zip(devices, parts, strict=True):
        found = device.to_host(part.gradient(device.asarray(zeros), device.asarray(np.array([7], np.uint64))))
        off = int(np.count_nonzero(np.abs(found - wanted) > 1e-3 + 1e-5 * np.abs(wanted).max()))
        # A label is 1 if a random number is below the chance of it, which float32 rounds.
        assert off <= max(asked.block >> 17, 1) * FIELDS, f"{off} of {FEATURES} slopes differ from NumPy's"
    epoch(group, parts, 2 * len(parts) * asked.block)  # compiles, and opens NCCL
    start = time.perf_counter()
    weights = epoch(group, parts, asked.rows)
    taken = time.perf_counter() - start
    agreement = float(np.corrcoef(weights, truth)[0, 1])
    rate = asked.rows / taken
    names = ", ".join(device.capabilities.name for device in devices)
    print(
        f"{names}: {asked.rows:,} rows in {taken:.2f} s, {rate / 1e6:.3g} million a second; correlation {agreement:.2f}"
    )
    computed = ALL_ROWS / (rate / len(parts) * COMPUTED_FOR)
    print(
        f"computed, not measured: {ALL_ROWS:.2g} rows on {COMPUTED_FOR} such devices {computed:.3g} s an epoch, if"
        f" more devices made no step longer (Snap ML on 16 V100, to its loss: {SNAP_ML} s)"
    )


if __name__ == "__main__":
    main()
