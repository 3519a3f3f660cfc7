"""The variants of histogram. Comments name the rows of measurements.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpuprims.core.catalogue import Catalogue, PerBackend
from gpuprims.core.determinism import Level
from gpuprims.core.geometry import BLOCKS, THREAD_GROUPS, Geometry, Refusal, Tunable, first_refusal, geometries
from gpuprims.core.refusals import double_precision, for_cpus, group_fits, work_item_fits, work_items_fit
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.histogram.reference import histogram_numpy
from gpuprims.primitives.histogram.traits import (
    HistogramTraits,
    counted,
    counted_bytes,
    entries_of_sums,
    floats_with_all_bits,
    histogram_fits,
    packing_pays,
    ranges_fit,
    sorted_fit,
    sorting_pays,
    sums_add_atomically,
)


@dataclass(frozen=True)
class HistogramVariant(Variant):
    """A variant of a histogram.

    Parameters
    ----------
    histograms : {"shared", "cached", "local", "split", "packed", "partitioned", "bytes", "private", "digits"}
        Where a group counts. In global memory: one histogram of all groups ("shared"), the same with some bins in local
        memory ("cached"), one for each work-item, in order ("private"), or one of exact sums for each work-item
        ("digits"). In local memory: histograms of its own ("local"), a range of one ("split"), the same in 16 bits
        ("packed") or of elements sorted by ranges ("partitioned"), or the values of a byte ("bytes").
    """

    histograms: Literal["shared", "cached", "local", "split", "packed", "partitioned", "bytes", "private", "digits"] = (
        "shared"
    )

    @property
    def shares_histograms(self) -> bool:
        """True if all groups add to one histogram in global memory."""
        return self.histograms in ("shared", "cached", "packed")

    def adds_exactly(self, call: CallTraits) -> bool:
        """Return True if sums of float weights have all bits, and are rounded once."""
        traits = HistogramTraits.of(call)
        return (self.histograms == "digits" and traits.exact) or (self.histograms == "local" and traits.exact_here)

    def level_for(self, call: CallTraits) -> Level:
        """See :class:`Variant`."""
        return "order" if call.rounds and self.adds_exactly(call) else super().level_for(call)

    @property
    def seeks(self) -> bool:
        """True if the kernel finds bins between bounds in the device's memory, and computes the edges."""
        return self.histograms in ("local", "bytes")

    @property
    def asks_local_memory(self) -> bool:
        """True if a launch reserves the local memory that a group counts in."""
        return self.histograms in ("cached", "local", "split", "packed", "partitioned")


def _local(at: Geometry) -> Refusal:
    return first_refusal(double_precision, group_fits(at.block), histogram_fits, sums_add_atomically)


_HISTOGRAM = Catalogue(HistogramVariant, "histogram", Path(__file__).parent)
# A 32-bit word has a bit for each remaining item of a work-item's tile.
_GROUPS = Tunable(geometries(BLOCKS, (4, 8, 16, 32), (1, 2, 4, 8, 16)), work_items_fit)

VARIANTS = (
    _HISTOGRAM.cpu(
        "cpu_private",
        rank=40,
        geometry=Geometry(1, 16384, 4),  # rows: cpu_private
        histograms="private",
        refuse=lambda at: first_refusal(for_cpus, double_precision),
        tunable=Tunable(geometries((1,), tuple(2**k for k in range(12, 19)), THREAD_GROUPS), work_item_fits),
    ),
    _HISTOGRAM.cpu(
        "cpu_exact",
        rank=38,
        geometry=Geometry(1, 16384, 4),  # rows: cpu_private, cpu_exact
        histograms="digits",
        refuse=lambda at: first_refusal(for_cpus, double_precision, floats_with_all_bits),
    ),
    *_HISTOGRAM.gpu(
        "bytes",
        rank=35,
        geometry=PerBackend(cuda=Geometry(1024, 64, 2), opencl=Geometry(256, 64, 4)),  # rows: bytes
        vectors=True,
        histograms="bytes",
        refuse=lambda at: first_refusal(counted_bytes, group_fits(at.block)),
        tunable=Tunable(geometries(BLOCKS, (16, 32, 64, 128), (1, 2, 4, 8)), work_items_fit),
    ),
    *_HISTOGRAM.gpu(
        "partitioned",
        rank=32,
        geometry=Geometry(512, 16, 2),  # rows: partitioned
        vectors=True,
        histograms="partitioned",
        refuse=lambda at: first_refusal(
            double_precision, group_fits(at.block), entries_of_sums, sorted_fit, sorting_pays
        ),
    ),
    *_HISTOGRAM.gpu(
        "local_atomic",
        rank=30,
        # rows: local_atomic, rows, digits
        geometry=PerBackend(cuda=Geometry(1024, 32, 2), opencl=Geometry(256, 16, 8)),
        vectors=True,
        histograms="local",
        refuse=_local,
        tunable=_GROUPS,
    ),
    *_HISTOGRAM.gpu(
        "packed",
        rank=28,
        geometry=Geometry(1024, 16, 2),  # rows: packed
        vectors=True,
        histograms="packed",
        refuse=lambda at: first_refusal(
            double_precision, group_fits(at.block), counted, ranges_fit, packing_pays, sums_add_atomically
        ),
    ),
    *_HISTOGRAM.gpu(
        "split",
        rank=25,
        geometry=PerBackend(cuda=Geometry(1024, 32, 2), opencl=Geometry(512, 32, 4)),  # rows: split
        vectors=True,
        histograms="split",
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), ranges_fit, sums_add_atomically),
        tunable=_GROUPS,
    ),
    *_HISTOGRAM.gpu(
        "cached",
        rank=15,
        geometry=PerBackend(cuda=Geometry(1024, 16, 2), opencl=Geometry(256, 16, 8)),  # rows: cached
        vectors=True,
        histograms="cached",
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), sums_add_atomically),
        tunable=_GROUPS,
    ),
    *_HISTOGRAM.gpu(
        "global_atomic",
        rank=10,
        geometry=Geometry(256, 16, 8),
        vectors=True,
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), sums_add_atomically),
        tunable=_GROUPS,
    ),
    _HISTOGRAM.numpy(histogram_numpy, Geometry(1, 2**62, 1), histograms="private"),
)
