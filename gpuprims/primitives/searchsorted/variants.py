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
from gpuprims.primitives.searchsorted.words import LEAST_LOCAL, Words

TABLE_BYTES = 16384  # rows: tree
# Elements that 32 bits do not count, with those of a node beyond.
MANY = 2**31 - 64
# Fewest keys for which keeping words pays (rows: words).
_LEAST_KEYS = 2**21
# Fewest elements, by their bytes, and most for each word, of wide ones (8 bytes) and of others, whose trees have more
# entries a node (rows: words, words-few).
_LEAST = {1: 2**9, 2: 2**7, 4: 2**7, 8: 2**9}
_MOST_WIDE, _MOST_OTHERS = 32, 2
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
    """A search; ``tree`` says that it goes down a tree, ``words`` that it keeps words of elements in local memory."""

    tree: bool = False
    words: bool = False

    @property
    def asks_local_memory(self) -> bool:
        """True if the launch decides the size of local memory."""
        return self.words


def many_keys(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse sorted arrays that are too long for the number of keys."""
    if not isinstance(call, SearchTraits) or call.in_table or call.size * _MOST_EACH >= call.elements:
        return None
    most = call.size * _MOST_EACH
    return f"writes a tree, so it is for up to {_MOST_EACH} elements a key, {most}; this call has {call.elements}"


def table_fits(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices whose local memory has no room for the highest level."""
    return lacks_local(TABLE_BYTES + TABLE_BYTES // 32 + SPARE_LOCAL, capabilities)


def real_numbers(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse numbers that no integer orders, more of them than 32 bits count, and none."""
    if call.dtypes[0].kind == "c":
        return "is for real numbers, which have an order by one integer; this call's are complex"
    if isinstance(call, SearchTraits) and not 0 < call.elements < MANY:
        return f"counts elements in 32 bits, from 1 on; this call has {call.elements}"
    return None


def words_fit(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse devices whose local memory has no room for a guide and a word."""
    return lacks_local(LEAST_LOCAL, capabilities)


def few_keys(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Leave calls to others in which each group writes its words for few keys, or searches long among elements."""
    if not isinstance(call, SearchTraits):
        return None
    if call.elements < (least := _LEAST[call.element_bytes]):
        return f"keeps words of {least} elements or more; this call has {call.elements}"
    if call.size < _LEAST_KEYS:
        return f"each group writes the words, for {_LEAST_KEYS} keys or more; this call has {call.size}"
    fan, most = Words.of(call.elements, capabilities).fan, _MOST_WIDE if call.element_bytes == 8 else _MOST_OTHERS
    if fan > most:
        return f"local memory has room for a word of every {fan} elements; a tree is faster from more than {most} on"
    return None


_SEARCH = Catalogue(SearchVariant, "searchsorted", Path(__file__).parent)

VARIANTS = (
    _SEARCH.cpu(
        "cpu_interleaved",
        rank=30,
        geometry=Geometry(1, 4096),
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_SEARCH.gpu(
        "words",
        rank=25,
        geometry=Geometry(512, 4, 4),  # rows: words
        words=True,
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), real_numbers, words_fit),
        yields=few_keys,
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
