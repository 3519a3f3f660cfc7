"""gpuprims: parallel primitives for any array on any GPU, or on the CPU you already have.

Each public name is loaded when it is first used. So importing the package is fast, and imports no vendor's library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuprims import datasets, distributed, errors, models, ndimage, xp
    from gpuprims.core.capabilities import Capabilities
    from gpuprims.core.determinism import use_determinism
    from gpuprims.core.device import Device, devices
    from gpuprims.core.explain import explain
    from gpuprims.core.geometry import Geometry
    from gpuprims.core.planned import Plan
    from gpuprims.core.plans import plan
    from gpuprims.core.primitive import Primitive
    from gpuprims.core.registry import register, unregister
    from gpuprims.core.traits import Call, CallTraits
    from gpuprims.core.use_device import use_device
    from gpuprims.core.use_stream import current_stream, use_stream
    from gpuprims.core.variant import Variant
    from gpuprims.distributed.group import DeviceGroup
    from gpuprims.distributed.sharded import ShardedArray
    from gpuprims.distributed.streams import stream
    from gpuprims.models.spam.hashing import hash_counts
    from gpuprims.operators import Op
    from gpuprims.primitives.compact import compact
    from gpuprims.primitives.compact.nonzero import argwhere, count_nonzero, nonzero
    from gpuprims.primitives.grouping.consecutive import unique_consecutive
    from gpuprims.primitives.grouping.group_by import group_by
    from gpuprims.primitives.grouping.run_length import run_length_decode, run_length_encode
    from gpuprims.primitives.grouping.unique import unique
    from gpuprims.primitives.histogram import bincount, histogram
    from gpuprims.primitives.histogram.histogramdd import histogram2d, histogramdd
    from gpuprims.primitives.map import map  # noqa: A004 - the primitive's name in every library of its kind
    from gpuprims.primitives.map.diff import diff
    from gpuprims.primitives.merge import merge
    from gpuprims.primitives.philox import random
    from gpuprims.primitives.reduce import reduce
    from gpuprims.primitives.scan import cumprod, cumsum, scan
    from gpuprims.primitives.searchsorted import searchsorted
    from gpuprims.primitives.searchsorted.digitize import digitize
    from gpuprims.primitives.searchsorted.isin import isin
    from gpuprims.primitives.selection import argpartition, median, partition, percentile, quantile
    from gpuprims.primitives.sort import argsort, lexsort, sort, sort_by_key
    from gpuprims.primitives.stencil import stencil
    from gpuprims.primitives.stencil.blur import blur
    from gpuprims.primitives.stencil.convolve import convolve
    from gpuprims.primitives.take import take
    from gpuprims.primitives.top_k import top_k
    from gpuprims.profiling.profile import Profile, profile

__version__ = "0.1.0"

__all__ = [
    "Call",
    "CallTraits",
    "Capabilities",
    "Device",
    "DeviceGroup",
    "Geometry",
    "Op",
    "Plan",
    "Primitive",
    "Profile",
    "ShardedArray",
    "Variant",
    "argpartition",
    "argsort",
    "argwhere",
    "bincount",
    "blur",
    "compact",
    "convolve",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "current_stream",
    "datasets",
    "devices",
    "diff",
    "digitize",
    "distributed",
    "errors",
    "explain",
    "group_by",
    "hash_counts",
    "histogram",
    "histogram2d",
    "histogramdd",
    "isin",
    "lexsort",
    "map",
    "median",
    "merge",
    "models",
    "ndimage",
    "nonzero",
    "partition",
    "percentile",
    "plan",
    "profile",
    "quantile",
    "random",
    "reduce",
    "register",
    "run_length_decode",
    "run_length_encode",
    "scan",
    "searchsorted",
    "sort",
    "sort_by_key",
    "stencil",
    "stream",
    "take",
    "top_k",
    "unique",
    "unique_consecutive",
    "unregister",
    "use_determinism",
    "use_device",
    "use_stream",
    "xp",
]

_HOMES = {
    "core.capabilities": "Capabilities",
    "core.determinism": "use_determinism",
    "core.device": "Device devices",
    "core.explain": "explain",
    "core.geometry": "Geometry",
    "core.planned": "Plan",
    "core.plans": "plan",
    "core.primitive": "Primitive",
    "core.registry": "register unregister",
    "core.traits": "Call CallTraits",
    "core.use_device": "use_device",
    "core.use_stream": "current_stream use_stream",
    "core.variant": "Variant",
    "distributed.group": "DeviceGroup",
    "distributed.sharded": "ShardedArray",
    "distributed.streams": "stream",
    "models.spam.hashing": "hash_counts",
    "operators": "Op",
    "primitives.compact": "compact",
    "primitives.compact.nonzero": "argwhere count_nonzero nonzero",
    "primitives.grouping.group_by": "group_by",
    "primitives.grouping.run_length": "run_length_decode run_length_encode",
    "primitives.grouping.consecutive": "unique_consecutive",
    "primitives.grouping.unique": "unique",
    "primitives.histogram": "bincount histogram",
    "primitives.histogram.histogramdd": "histogram2d histogramdd",
    "primitives.map": "map",
    "primitives.map.diff": "diff",
    "primitives.merge": "merge",
    "primitives.philox": "random",
    "primitives.reduce": "reduce",
    "primitives.scan": "cumprod cumsum scan",
    "primitives.searchsorted": "searchsorted",
    "primitives.searchsorted.digitize": "digitize",
    "primitives.searchsorted.isin": "isin",
    "primitives.selection": "argpartition median partition percentile quantile",
    "primitives.sort": "argsort lexsort sort sort_by_key",
    "primitives.stencil": "stencil",
    "primitives.stencil.blur": "blur",
    "primitives.stencil.convolve": "convolve",
    "primitives.take": "take",
    "primitives.top_k": "top_k",
    "profiling.profile": "Profile profile",
}


def __getattr__(name: str) -> Any:
    if name in ("datasets", "distributed", "errors", "models", "ndimage", "torch", "xp"):
        return importlib.import_module(f"gpuprims.{name}")
    for home, names in _HOMES.items():
        if name in names.split():
            value = globals()[name] = getattr(importlib.import_module(f"gpuprims.{home}"), name)
            return value
    raise _absent(name)


def _absent(name: str) -> AttributeError:
    """Return the error for a function that NumPy has, or for a misspelt name."""
    from gpuprims.errors import absent
    from gpuprims.errors.names import NUMPY, advice_on

    if name.startswith("_"):  # tools look for protocols, which need no import of the operators
        return absent(__name__, name, ())
    from gpuprims.operators import OPERATORS

    return absent(__name__, name, __all__, {one: f'reduce(x, op="{one}")' for one in OPERATORS}, advice_on(name, NUMPY))


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
