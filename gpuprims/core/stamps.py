"""Kernels that stamp a clock at each of their numbered steps.

The body of a kernel file is a list of numbered steps, each a comment such as ``/* 2. Fold the tile. */``. A stamped
kernel reads the device's clock there, and takes a memory more: sums of ticks for each group and step.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.variant import Variant
from gpuprims.errors import RegistryError

_HEADER = Path(__file__).with_name("kernels") / "phases.h"
# Groups that keep their sums: the first ones, since those of a large launch would fill much memory.
_MOST_GROUPS = 4096
_STEP = re.compile(r"/\* (\d+)\. (.*?)\*/", re.DOTALL)
_RETURN = re.compile(r"\breturn;")
# What the compiler says of a device without a clock, see the header.
NO_CLOCK = "GP_NO_CLOCK"
_BEFORE = "before the first step"


class Stamped(NamedTuple):
    """A kernel's text with stamps, and the names of its phases: what is before step 1, and the steps."""

    text: str
    phases: tuple[str, ...]


def stamped(text: str, entry: str) -> Stamped:
    """Write stamps into the text of a kernel file, without moving its lines.

    A file may have several versions of the kernel; macros choose one.
    """
    phases, parts, done = [_BEFORE], list[str](), 0
    for found in re.finditer(rf"__kernel\b[^;{{]*?\b{re.escape(entry)}\(([^{{]*?)\)\s*\n\{{", text, re.DOTALL):
        end = text.index("\n}", found.end())
        taken = text.rindex("const layout_t layout", 0, found.end())
        head = f"{text[done:taken]}GLOBAL u64 *gp_phases, {text[taken : found.end()]} GP_PHASES_BEGIN"
        body = _RETURN.sub("{ GP_PHASES_END return; }", text[found.end() : end])
        parts += [head, _STEP.sub(partial(_stamp, phases), body), " GP_PHASES_END"]
        done = end
    if not parts:
        raise RegistryError(f"{entry}: a kernel of this name in its file, with a layout; got none")
    return Stamped("".join([*parts, text[done:]]), tuple(phases))


def _stamp(phases: list[str], step: re.Match[str]) -> str:
    """Return a step's comment and its stamp, and add its number and first sentence to the phases."""
    words = " ".join(word for word in step[2].split() if word != "*")
    phases.append(f"{step[1]}. {re.split(r'[.;:](?: |$)', words, maxsplit=1)[0]}")
    return f"{step[0]} GP_PHASE({len(phases) - 1})"


class StampedSpec:
    """A kernel spec whose kernel stamps a clock; anything else is the plain spec's.

    Parameters
    ----------
    spec : KernelSpec
    variant : Variant
    """

    def __init__(self, spec: KernelSpec, variant: Variant) -> None:
        self._spec = spec
        self.stamped = stamped(variant.path.read_text(), variant.entry)

    @property
    def phases(self) -> tuple[str, ...]:
        """The names of the phases."""
        return self.stamped.phases

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spec, name)

    @property
    def pointers(self) -> int:
        """Pointer arguments: the kernel's own, and the sums."""
        return self._spec.pointers + 1

    def macros(self) -> dict[str, int | str]:
        """Add the number of phases."""
        return self._spec.macros() | {"GP_PHASES": len(self.stamped.phases), "GP_PHASE_GROUPS": _MOST_GROUPS}

    def headers(self) -> tuple[Path, ...]:
        """Add the clock."""
        return (*self._spec.headers(), _HEADER)

    def kernel_text(self, path: Path) -> str:
        """Return the kernel file with stamps."""
        return self.stamped.text


class Sums:
    """The memory of a launch's sums.

    Parameters
    ----------
    driver : Driver
    phases : tuple of str
    groups : int
        Groups of the launch.
    """

    def __init__(self, driver: Any, phases: tuple[str, ...], groups: int) -> None:
        self._driver, self._phases = driver, phases
        self.memory = driver.zeros((min(groups, _MOST_GROUPS), len(phases)), np.dtype(np.uint64))

    def ticks(self) -> dict[str, int]:
        """Wait for the launch, and return the ticks of each phase that it has met, summed over the groups."""
        found: dict[str, int] = {}
        for name, ticks in zip(self._phases, self._driver.to_host(self.memory).sum(axis=0), strict=True):
            if ticks:
                found[name] = found.get(name, 0) + int(ticks)
        return found
