"""The launches of a histogram: one or two readings of the elements, as the variant adds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.together import together
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError
from gpuprims.operators import find_op
from gpuprims.primitives.histogram.elements import in_memory_order
from gpuprims.primitives.histogram.joining import adding, joining_planes
from gpuprims.primitives.histogram.partition import read_partitioned
from gpuprims.primitives.histogram.reading import ALIGNMENT, Reader, Reading
from gpuprims.primitives.histogram.readings import Readings
from gpuprims.primitives.histogram.request import HistogramRequest
from gpuprims.primitives.histogram.traits import HistogramTraits
from gpuprims.primitives.histogram.variants import HistogramVariant

_UINT32 = np.dtype(np.uint32)
_MOST_ADDED = 2**33  # float weights, which are added as integers: what their digits hold


class HistogramWork(NamedTuple):
    """A histogram of arrays along ``axes`` into ``result``, without the variant that does it."""

    request: HistogramRequest
    forms: tuple[Form, ...]
    axes: tuple[int, ...]
    device: Device
    traits: HistogramTraits
    result: Form

    def launch(self, variant: Variant) -> Any:
        """Return the readings by a variant; see :class:`Readings`."""
        chosen, request, shape = HistogramVariant.of(variant), self.request, self.result.shape
        empty = request.bins < request.asked  # bins after those of the table, which nothing writes
        if not math.prod(self.forms[0].shape) or not request.width:
            return Readings(None, None, shape, zeroed=True)
        if request.repeats and chosen.histograms != "private":
            self._check_number_of_weights()
        if chosen.histograms == "partitioned":
            op = adding(request.weighing.sums == "floats", self.result.dtype)
            both = read_partitioned(self._reader(chosen), request.weighing.sums, op, self._target, edges=request.edges)
            return Readings(both, None, shape, zeroed=empty)
        sums, peaks = self._read(chosen)
        if sums.behind:
            return Readings(sums, peaks, (request.bins + sums.behind,), sums.zeroed)
        return Readings(sums, peaks, shape, zeroed=empty)

    def _read(self, chosen: HistogramVariant) -> tuple[Reading, Reading | None]:
        """Return the reading that adds, and one before it that finds exponents, if floats need it."""
        request, dtype, reader, target = self.request, self.result.dtype, self._reader(chosen), self._target
        how, alone = {"edges": request.edges, "reports": request.reports}, request.bins == request.asked
        if not request.repeats or chosen.histograms == "private":
            op = adding(request.weighing.sums == "floats", dtype)
            return reader.read(request.weighing.sums, op, target, alone=alone, **how), None
        if chosen.adds_exactly(self.traits):
            return reader.read("exact", adding(True, dtype), target, alone=False, **how), None
        if not chosen.shares_histograms:
            return reader.read("relative", adding(True, dtype), target, alone=alone, **how), None
        weight = self.forms[-1].dtype
        joining = joining_planes(dtype, single=weight.kind == "f" and weight.itemsize < 8)
        beside = contiguous(_UINT32, (self.traits.outputs, request.bins + 2), ALIGNMENT)
        sums, peaks = together(
            self.device,
            lambda: reader.read("scaled", joining, target, beside, alone=False, **how),
            lambda: reader.read("peaks", find_op("max"), beside, alone=True),
        )
        return sums, peaks

    def _reader(self, chosen: HistogramVariant) -> Reader:
        table = self.request.kind, self.request.guide, self.request.keys
        return Reader(self.device, chosen, in_memory_order(self.forms, self.axes), self.axes, self.traits, *table)

    @property
    def _target(self) -> Form:
        """The sums by output and place: those of the result that the table has."""
        outputs, length = self.traits.outputs, self.result.shape[-1]
        whole = contiguous(self.result.dtype, (outputs, length), ALIGNMENT)
        return whole._replace(shape=(outputs, self.request.width))

    def _check_number_of_weights(self) -> None:
        weights = math.prod(self.forms[0].shape)
        if weights > _MOST_ADDED:
            raise ArgumentError(
                f"{self.request.label}: at most 2^33 float weights for sums that repeat from run to run; got {weights}"
                " (deterministic=False adds them in any order)"
            )
