"""Searches among words of 32 bits in local memory, one of every few elements, and then among the elements between."""

from __future__ import annotations

from typing import NamedTuple

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.layout import Layout
from gpuprims.core.refusals import SPARE_LOCAL
from gpuprims.core.variant import Variant
from gpuprims.primitives.searchsorted.spec import SearchSpec, WordsSpec

# Bytes of a word, and of the guide of searchsorted_words.cl, which has one entry more than cells.
_WORD, _GUIDE = 4, 2 * (2048 + 2)
_MOST = 2**16 - 1  # words that its entries of 16 bits count
# Bytes of local memory for the guide and some words.
LEAST_LOCAL = _GUIDE + 64 * _WORD + SPARE_LOCAL
# Work-items of a group that has a compute unit for itself (rows: words).
_ALONE = 1024
# Bytes of local memory of a compute unit that each of its groups takes beside its own.
_RESERVED = 1024


class Words(NamedTuple):
    """A word for every ``fan`` elements, in ``local`` bytes of local memory."""

    fan: int
    local: int

    @classmethod
    def of(cls, size: int, able: Capabilities) -> Words:
        """Return the words of as many of ``size`` elements as local memory has room for."""
        fan, room = 1, able.asked_local_memory - SPARE_LOCAL
        while size // fan > _MOST or _bytes_of(size // fan) > room:
            fan *= 2
        return cls(fan, _bytes_of(size // fan))

    def groups(self, chosen: Variant, able: Capabilities) -> int:
        """Return how many groups a compute unit has room for, at most those of the variant."""
        most = chosen.groups_per_unit or 1
        if able.unit_local_memory is None:
            return most
        return max(1, min(most, able.unit_local_memory // (self.local + _RESERVED)))


def _bytes_of(count: int) -> int:
    """Return the bytes of some words, with the gaps between them, and of the guide."""
    return _WORD * (count + (count >> 5) + 1) + _GUIDE


def prepare_words(device: Device, chosen: Variant, layout: Layout, spec: SearchSpec, n: int, size: int) -> Launch:
    """Return the launch of a search for ``n`` keys in ``size`` elements."""
    able = device.capabilities
    words = Words.of(size, able)
    groups = words.groups(chosen, able)
    fitted = chosen.resized(
        groups_per_unit=groups, block=min(_ALONE, able.group_limit) if groups == 1 else chosen.block
    )
    kernel = device.kernel(fitted, WordsSpec.of(spec, fan=words.fan))
    return kernel.prepare(fitted.groups(-(-n // fitted.tile), able), layout.pack(0), n, size, local=words.local)
