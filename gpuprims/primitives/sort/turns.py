"""What the passes of a sort read and write."""

from __future__ import annotations

from typing import Any

from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.memory import section
from gpuprims.primitives.sort.work import Four, Work


class Turns:
    """What passes read and write: the first reads the call's arrays, and the last writes its results.

    The others take turns with two sides of one memory, which begins with counts.
    """

    def __init__(self, work: Work, passes: int, *, counts: int = 0) -> None:
        self.passes, self._work, self._nbytes = passes, work, section(counts)
        self.sides = [(self._section(work.keys.word), self._section(work.carried)) for _ in range(min(passes - 1, 2))]

    def _section(self, dtype: Dtype | None) -> int:
        """Make room for something of each element, and return where it begins, in elements."""
        if dtype is None:
            return 0
        begin = self._nbytes // dtype.itemsize
        self._nbytes += section(self._work.rows.size * dtype.itemsize)
        return begin

    def ends(self, k: int) -> tuple[int, int]:
        """Return 1 for the first pass, and 1 for the last one."""
        return int(k == 0), int(k == self.passes - 1)

    def places(self, k: int) -> Four[int]:
        """Return where a pass reads and writes in its memories."""
        (first, last), begins = self.ends(k), self._work.begins
        read = begins[:2] if first else self.sides[(k - 1) % 2]
        return Four(*read, *(begins[2:] if last else self.sides[k % 2]))

    def memories(self, k: int, given: Four[Any], between: Any) -> Four[Any]:
        """Return the memories of a pass among those of the call and that between passes."""
        first, last = self.ends(k)
        return Four(*(given[:2] if first else (between, between)), *(given[2:] if last else (between, between)))

    def allocate(self) -> Any:
        """Return the memory between passes; None if there is nothing to keep there."""
        return self._work.device.driver.scratch(self._nbytes) if self._nbytes else None
