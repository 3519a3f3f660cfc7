"""The variants of map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import BLOCKS, Geometry, Tunable, first_refusal, geometries
from gpuprims.core.refusals import double_precision, for_cpus, group_fits, work_item_fits, work_items_fit
from gpuprims.core.kernel_spec import Access
from gpuprims.core.variant import Variant
from gpuprims.expressions import TypedExpr
from gpuprims.expressions.functions import FLOATING
from gpuprims.primitives.map.reference import map_numpy

# Functions that call the compiler's library, for some dtypes at least.
_LIBRARY = {*FLOATING, "power", "remainder", "floor_divide", "absolute", "float_power", "fmod"}


@dataclass(frozen=True)
class MapVariant(Variant):
    """A variant of a map."""

    def fitted(self, accesses: Sequence[Access], function: TypedExpr, capabilities: Capabilities) -> Self:
        """Return the variant with as many work-items a group as the device's compiler joins in a vector.

        It joins calls of library functions, which it leaves alone in loops; but only in loops does it load vectors of
        elements that lie apart (measurements.md: cpu_chunks).
        """
        calls = any(node.name in _LIBRARY or node.dtype == np.float16 for node in function.nodes)
        dense = all(access.reduced[-1:] in ((), (0,), (1,)) for access in accesses)
        block = capabilities.warp if calls or dense else 0
        return self.resized(block=block or 1, items=max(self.tile // (block or 1), 1))


_MAP = Catalogue(MapVariant, "map", Path(__file__).parent)

VARIANTS = (
    _MAP.cpu(
        "cpu_chunks",
        rank=20,
        geometry=Geometry(1, 16384),
        by_rows=True,
        refuse=lambda at: first_refusal(for_cpus, double_precision),
        tunable=Tunable(geometries((1,), tuple(2**k for k in range(10, 21))), work_item_fits),
    ),
    *_MAP.gpu(
        "grid",
        rank=10,
        geometry=Geometry(256, 4),
        vectors=True,
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block)),
        tunable=Tunable(geometries(BLOCKS, (1, 2, 4, 8, 16)), work_items_fit),
    ),
    _MAP.numpy(map_numpy),
)
