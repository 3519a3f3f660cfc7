"""The launches of a fold: how many groups, what each of them takes, and how it reads elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gpuprims.core.counters import with_counters
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.launch_plan import nothing
from gpuprims.core.layout import Layout
from gpuprims.core.refusals import SPARE_LOCAL, lacks_local
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import MOST_GROUPS, Variant
from gpuprims.operators import Folding
from gpuprims.primitives.by_rows import FEWEST_FOLDED, by_rows
from gpuprims.primitives.exact_sums import launch_exact
from gpuprims.primitives.fixed_fold import FixedFold
from gpuprims.primitives.fixed_launches import launch_fixed
from gpuprims.primitives.fold_spec import FoldSpec, peeled_width
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.joined import lanes_joined, large_apart, scalar_in_loops
from gpuprims.primitives.near import groups_near
from gpuprims.primitives.products_by_numpy import multiplies

# A work-item takes up to _MOST_ACROSS outputs if they have at most _SHORT elements (row each-across). Of narrow
# elements it takes a word of outputs, however many elements they have (row each-narrow-elements).
_SHORT, _MOST_ACROSS, _WORD = 64, 4, 4
# More words of values at once take too many registers (row each-narrow-elements).
_MOST_LOADED = 32
# A work-item that is joined with others has at least one of the lanes by which a kernel folds.
_MOST_JOINED = 16
# Joined work-items fold outputs of up to this many elements side by side: FEW of reduce_cpu_chunks.cl.
_FEW = 128
# Threads of a CPU share the columns, of at least _FEWEST_BESIDE each, instead of up to _MOST_BESIDE rows of them (rows:
# cpu_columns-beside).
_FEWEST_BESIDE, _MOST_BESIDE = 64, 4096


class FoldWork(NamedTuple):
    """A fold, without the variant that does it.

    ``layout`` has the axes merged, in any order if the operator commutes; ``in_order`` makes one in index order, and
    ``flat`` is None or the layout by which a group loads the elements of all its outputs. ``read`` counts the arrays,
    and ``finished`` the elements that a result is made from. With ``indexed``, the function takes their index. With
    ``limbs_left``, exact sums are not rounded.
    """

    device: Device
    folding: Folding
    traits: CallTraits
    layout: Layout
    in_order: Callable[[], Layout]
    flat: Layout | None
    read: int
    finished: int
    indexed: bool
    limbs_left: bool

    @property
    def outputs(self) -> int:
        """The number of results."""
        return self.traits.outputs

    @property
    def size(self) -> int:
        """Elements of each result."""
        return self.traits.size

    def launch(self, variant: Variant) -> Launch:
        """Return the launch by a variant."""
        chosen = FoldVariant.of(variant)
        if not self.outputs:
            return nothing
        numbers = self.outputs, self.size, self.finished
        if chosen.folds == "fixed tree":
            given = self.device, chosen, self.folding, self.in_order(), *numbers
            return launch_fixed(FixedFold(*given, self.traits.commutative))
        if chosen.folds == "exactly":
            return launch_exact(self.device, chosen, self.folding, self.layout, *numbers, limbs_left=self.limbs_left)
        return self._launch_parts(chosen)

    def _launch_parts(self, chosen: FoldVariant) -> Launch:
        """Return the launch of groups that fold a part of an output each, or several outputs."""
        across = self._across(chosen)
        width = self._width(chosen, across)
        read_by = self._read_by(chosen)
        aligned = read_by.vector_width() if chosen.vectors else 1
        peels = self.traits.commutative and 0 < chosen.peels <= self.size
        vector = max(aligned, peeled_width(read_by, self.read) if peels else 0)
        chosen = chosen.narrowed(vector, value_words(self.folding.values))
        parts, groups = self._groups(chosen, width)
        loads = {"vector": vector, "vector_across": across, "peeled": vector > aligned}
        spec = self._spec(chosen, read_by, **loads)
        if chosen.joins and self.traits.commutative and self._joins():
            chosen = chosen.resized(block=min(lanes_joined(self.device.capabilities), _MOST_JOINED))
        numbers = self.outputs, self.size, parts, *([width] if chosen.narrows else [])
        fitted = self._fitted(chosen, vector, across, width)
        launch = self.device.kernel(fitted, spec).prepare(groups, read_by.pack(self.finished), *numbers)
        return self._with_memory(launch, chosen, parts)

    @property
    def _item(self) -> int:
        """Bytes of the widest element."""
        return max(form.item for form in self.layout.forms[: self.read])

    def _across(self, chosen: FoldVariant) -> int:
        """Return how many neighbouring outputs a work-item takes."""
        if not chosen.narrows or not self._neighbours:
            return 1
        most = _MOST_ACROSS if self.size <= _SHORT else max(_WORD // self._item, 1)
        across, able = min(self.layout.width_across(self.read), most), self.device.capabilities
        nbytes = chosen.block * value_bytes(self.folding.values)
        while across > 1 and lacks_local(across * nbytes + SPARE_LOCAL, able):  # a group keeps a value of each
            across //= 2
        return across

    @property
    def _neighbours(self) -> int:
        """Outputs that lie together in memory; 0 if elements of one output do."""
        return self.layout.kept[-1] if self.traits.side_by_side else 0

    def _width(self, chosen: FoldVariant, across: int) -> int:
        """Return how many outputs a group takes at once."""
        able = self.device.capabilities
        return chosen.width(self.outputs, self._neighbours, across, self.size, self._item, able)

    def _read_by(self, chosen: FoldVariant) -> Layout:
        """Return the layout by which the kernel reads: of all outputs at once, by rows, or by index."""
        if chosen.by_rows and self.traits.commutative and not self.indexed and chosen.outputs_per_group == 1:
            return by_rows(self.layout, FEWEST_FOLDED)
        return self.flat if chosen.stages and self.flat else self.layout

    def _groups(self, chosen: FoldVariant, width: int) -> tuple[int, int]:
        """Return the number of parts of an output, and of groups."""
        able, parts = self.device.capabilities, 1
        rows = -(-self.outputs // width)  # groups that compute all outputs once
        if chosen.shares_outputs:  # enough groups to fill the device, each with a tile of its own
            tiles = max(-(-self.size * width // (chosen.block * chosen.items)), 1)
            parts = max(1, min(tiles, chosen.groups(rows * tiles, able) // rows))
        if parts > 1 and chosen.block == 1 < chosen.outputs_per_group and self.size <= _MOST_BESIDE:
            threads = chosen.groups(MOST_GROUPS, able)
            if self._neighbours >= _FEWEST_BESIDE * threads:  # threads take columns, and leave no values
                rows, parts = threads, 1
        groups = min(rows * parts, MOST_GROUPS)
        if not chosen.shares_outputs or chosen.block == 1:  # a group of one is a thread: no more than there are to run
            groups = chosen.groups(groups, able)
        if chosen.by_rows and len(self.folding.values) == 1:
            nbytes = sum([form.item for form in self.layout.forms[: self.read]]) * self.outputs * self.size
            groups = groups_near(groups, nbytes, self.folding.map, self.folding.op)
        return parts, groups

    def _spec(self, chosen: FoldVariant, read_by: Layout, **loads: Any) -> FoldSpec:
        """Return the kernel spec of groups that read by a layout."""
        narrow = 0 < self.device.capabilities.vector_lanes < _MOST_JOINED
        loads["apart"] = large_apart(read_by, self.read) if chosen.joins else None
        loads["narrow"] = narrow if chosen.block == 1 else None  # kernels of CPUs
        if chosen.block == 1 and multiplies(self.folding.map):  # rounded as in folds.h (rows: by_numpy-products)
            loads["merges"] = False
        how = {"better": self.folding.better, "commutative": self.traits.commutative}
        return FoldSpec.of(self.folding, read_by, **how, **loads)

    def _joins(self) -> bool:
        """Return True if a CPU's compiler should join work-items in a vector."""
        side_by_side = self.size <= _FEW and len(self.folding.values) > 1  # rows: cpu_chunks-few
        return side_by_side or scalar_in_loops(self.folding.map, self.folding.op)

    def _fitted(self, chosen: FoldVariant, vector: int, across: int, width: int) -> FoldVariant:
        """Return the variant with as many items as registers hold, and as outputs have elements."""
        if across > 1:
            words = max(across * min(self._item, _WORD) // _WORD, 1)  # that a work-item loads of each row
            held = 4 * _MOST_LOADED // (across * value_bytes(self.folding.values))
            return chosen.resized(items=max(min(chosen.items // words, held), 1))
        if chosen.narrows and vector == 1 and 0 < self.size < chosen.items and 2 * width > chosen.block:
            return chosen.resized(items=self.size)  # all elements of an output at once (rows: each-few)
        return chosen

    def _with_memory(self, launch: Launch, chosen: FoldVariant, parts: int) -> Launch:
        """Return the launch with memory for partial values, and counters of the groups that are done."""
        nbytes = value_bytes(self.folding.values)
        counters, scratch = self.outputs, self.outputs * parts * nbytes
        if parts == 1:  # unshared outputs need no counters, and there may be millions
            counters, scratch = 1, 0
        elif chosen.accumulates:
            counters, scratch = (self.outputs + 1) // 2 * 2 + self.outputs * nbytes // 4, 0
        unread = 0 if self.size else self.read
        return with_counters(self.device, launch, counters, scratch, unread=unread, one_kernel=True)
