"""The variants of searchsorted. Comments name the rows of measurements.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import SPARE_LOCAL, double_precision, for_cpus, group_fits, lacks_local
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.searchsorted.reference import search_numpy

TABLE_BYTES = 16384  # rows: tree
# Elements for each key up to which a tree is written for one call.
_MOST_EACH = 32


@dataclass(frozen=True)
class SearchTraits(CallTraits):
    """A search for ``size`` keys."""

    elements: int = 0  # of the sorted array
    element_bytes: int = 4

    @property
    def in_table(self) -> bool:
        """True if local memory has room for the sorted array."""
        return self.elements * self.element_bytes <= TABLE_BYTES


@dataclass(frozen=True)
class SearchVariant(Variant):
    """A search; ``tree`` says that it goes down a tree."""

    tree: bool = False


def many_keys(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse sorted arrays that are too long for the number of keys."""
    if not isinstance(call, SearchTraits) or call.in_table or call.size * _MOST_EACH >= call.elements:
        return None
    most = call.size * _MOST_EACH
    return f"writes a tree, so it is for up to {_MOST_EACH} elements a key, {most}; this call has {call.elements}"


def table_fits(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices whose local memory has no room for the highest level."""
    return lacks_local(TABLE_BYTES + SPARE_LOCAL, capabilities)


_SEARCH = Catalogue(SearchVariant, "searchsorted", Path(__file__).parent)

VARIANTS = (
    _SEARCH.cpu(
        "cpu_interleaved",
        rank=30,
        geometry=Geometry(1, 4096),
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_SEARCH.gpu(
        "tree",
        rank=20,
        geometry=Geometry(512, 4, 4),  # rows: tree
        tree=True,
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), table_fits, many_keys),
    ),
    *_SEARCH.gpu(
        "binary",
        rank=10,
        geometry=Geometry(256, 4),  # rows: binary
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block)),
    ),
    _SEARCH.numpy(search_numpy),
)
