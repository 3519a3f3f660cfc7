"""The variants of sort. Comments name the rows of measurements.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpuprims.core.catalogue import Catalogue, PerBackend
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, forward_progress, group_fits, not_for_cpus, shuffles
from gpuprims.core.variant import Variant
from gpuprims.primitives.sort.reference import sort_numpy
from gpuprims.primitives.sort.refusals import (
    few_comparisons,
    int64_atomics,
    keys_alone,
    lanes_pay,
    rows_below,
    rows_from,
    skewed_or_short,
    votes_fit,
    whole_rows,
)
from gpuprims.primitives.sort.room import fits_at_once, lanes_fit, row_fits
from gpuprims.primitives.sort.traits import by_bits, chunk_fits, counted_tile_fits, merged_tile_fits


@dataclass(frozen=True)
class SortVariant(Variant):
    """A way to sort: by :mod:`gpuprims.primitives.sort.passes`, in groups that may wait for each other."""

    holds: bool = False  # groups hold whole rows; the launch decides the size of local memory
    tasks: Geometry | None = None  # each group sorts a bucket of keys; the launch decides the size of local memory
    sweeps: bool = False  # groups pass counts of digits on; the launch decides the size of local memory

    @property
    def waits(self) -> bool:
        """See :class:`Variant`."""
        return self.sweeps or self.together

    @property
    def asks_local_memory(self) -> bool:
        """See :class:`Variant`."""
        return self.waits or self.holds or self.tasks is not None


_SORT = Catalogue(SortVariant, "sort", Path(__file__).parent)

VARIANTS = (
    _SORT.cpu(
        "cpu_rows",
        rank=30,
        geometry=Geometry(1, 1, 8),  # rows: cpu_rows
        refuse=lambda at: first_refusal(for_cpus, by_bits, rows_below(2**31 - 1), whole_rows(2**15, 2)),
    ),
    _SORT.cpu(
        "cpu_chunks",
        rank=20,
        geometry=Geometry(1, 2**17, 1),  # rows: cpu_chunks
        refuse=lambda at: first_refusal(for_cpus, by_bits),
    ),
    _SORT.cpu(
        "cpu_merge",
        rank=4,
        geometry=Geometry(1, 1024, 8),  # rows: cpu_merge
        refuse=lambda at: first_refusal(for_cpus, double_precision, chunk_fits(at)),
    ),
    *_SORT.gpu(
        "merge",
        rank=5,
        geometry=Geometry(256, 8),  # rows: merge
        refuse=lambda at: first_refusal(not_for_cpus, group_fits(at.block), double_precision, merged_tile_fits(at)),
    ),
    *_SORT.gpu(
        "buckets",
        rank=15,
        geometry=Geometry(1024, 16, 1),  # rows: buckets
        tasks=Geometry(256, 18, 4),  # rows: buckets
        refuse=lambda at: first_refusal(
            not_for_cpus,
            by_bits,
            group_fits(at.block),
            int64_atomics,
            keys_alone,
            rows_below(2**32 - 1),
        ),
        yields=PerBackend(
            cuda=skewed_or_short(2**19, 2**26, 2**23),  # rows: buckets-short
            opencl=skewed_or_short(2**19, 2**26, 2**24),  # rows: buckets-short
        ),
    ),
    *_SORT.gpu(
        "places",
        rank=19,
        geometry=Geometry(256, 4),  # rows: places
        refuse=lambda at: first_refusal(not_for_cpus, by_bits, group_fits(at.block), rows_below(2**16)),
        yields=few_comparisons(2**24),  # rows: places
    ),
    *_SORT.gpu(
        "resident",
        rank=18,
        geometry=Geometry(1024, 16, 1),  # rows: resident
        together=True,
        refuse=lambda at: first_refusal(
            not_for_cpus,
            by_bits,
            group_fits(at.block),
            shuffles(at.block),
            votes_fit,
            forward_progress,
            fits_at_once(at),
        ),
        yields=rows_from(2**12),  # rows: resident
    ),
    *_SORT.gpu(
        "lanes",
        rank=25,
        geometry=Geometry(128, 32),  # rows: lanes
        refuse=lambda at: first_refusal(not_for_cpus, by_bits, group_fits(at.block), lanes_fit(at)),
        yields=lanes_pay,
    ),
    *_SORT.gpu(
        "rows",
        rank=16,
        geometry=Geometry(1024, 16),  # rows: rows
        holds=True,
        refuse=lambda at: first_refusal(
            not_for_cpus, by_bits, group_fits(at.block), shuffles(at.block), votes_fit, row_fits(at)
        ),
    ),
    *_SORT.gpu(
        "onesweep",
        rank=10,
        geometry=Geometry(1024, 16, 2),  # rows: onesweep, onesweep-ahead
        sweeps=True,
        refuse=lambda at: first_refusal(
            not_for_cpus,
            by_bits,
            group_fits(at.block),
            shuffles(at.block),
            votes_fit,
            forward_progress,
            rows_from(2**14),  # rows: onesweep-short
            rows_below(2**32 - 1),
        ),
    ),
    *_SORT.gpu(
        "counted",
        rank=8,
        geometry=Geometry(256, 16, 8),  # rows: counted
        refuse=lambda at: first_refusal(
            not_for_cpus, by_bits, group_fits(at.block), counted_tile_fits(at), rows_below(2**32 - 1)
        ),
        yields=rows_from(2**17),  # rows: counted
    ),
    _SORT.numpy(sort_numpy),
)
