"""How groups share the outputs of folds by the fixed tree of :mod:`gpuprims.primitives.fixed_trees`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gpuprims.core.counters import with_counters
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.geometry import power_of_two
from gpuprims.core.kernel_spec import value_bytes
from gpuprims.primitives.fixed_trees import RUN, lanes_of
from gpuprims.primitives.fold_spec import FoldSpec


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedSpec(FoldSpec):
    """The macros of a fold by the fixed tree, without contraction."""

    contracted: ClassVar[bool] = False

    def macros(self) -> dict[str, int | str]:
        """See :class:`KernelSpec`."""
        return super().macros() | {"TREE_LANES": lanes_of(value_bytes(self.values)), "TREE_RUN": RUN}

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), Path(__file__).parent / "reduce" / "kernels" / "fixed.h")


def shares(blocks: int, most: int) -> tuple[int, int]:
    """Return how many parts an output of some blocks has, ``most`` at most, and k, if each has 2^k blocks."""
    shift = max(-(-blocks // max(most, 1)) - 1, 0).bit_length()
    return -(-blocks >> shift), shift


def blocks_of(size: int, lanes: int) -> int:
    """Return the blocks of ``size`` elements of an output."""
    return max(-(-size // (lanes * RUN)), 1)


def loads_of(count: int, lanes: int) -> int:
    """Return how many of its elements, of ``count`` of an output, a lane of the tree loads at once."""
    return min(power_of_two(max(-(-count // lanes), 1)), 4)


def with_parts(device: Device, launch: Launch, spec: FixedSpec, counters: int, values: int, *, read: bool) -> Launch:
    """Return the launch with memory for the ``values`` of parts and their counters; 0 if outputs have one part each."""
    unread = 0 if read else len(spec.inputs)
    scratch = values * value_bytes(spec.values)
    return with_counters(device, launch, counters if values else 1, scratch, unread=unread, one_kernel=True)
