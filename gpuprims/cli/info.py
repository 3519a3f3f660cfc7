"""``gpuprims info``: list the devices, and what other backends lack."""

from __future__ import annotations

import argparse
from typing import Any

import gpuprims
from gpuprims.cli.arguments import Subparsers, add_command
from gpuprims.cli.terminal import indented, show, table
from gpuprims.core.capabilities import remedy
from gpuprims.core.device import Device, absences, devices
from gpuprims.errors import shortened

_NAMES = "device", "name", "vendor", "driver", "works"
_NUMBERS = "units", "memory", "group", "local", "warp"
_FACTS = "device", "kind", *_NUMBERS, "fp64", "fp16", "a64", "fwd"
_LEGEND = """\
group: most work-items of a group; local: KiB of local memory of a group
warp: work-items that run in step; a64: atomics on 64-bit integers
fwd: groups of one launch run at the same time"""


def add_parser(commands: Subparsers) -> None:
    """Add the command."""
    add_command(
        commands, "info", "list the devices, and what is missing for others",
        about="A trial kernel runs on each device; `works` tells if its result is right. The first device is the one\n"
        "that NumPy arrays go to.",
        examples=[("gpuprims info", "devices, drivers, and how to install an absent backend")],
    )  # fmt: skip


def run(chosen: argparse.Namespace) -> int:
    """Print every device and every absent backend, with what to do about it."""
    found = (*devices(), Device("reference"))
    failures = [device.check() for device in found]
    works = ["no" if failure else "yes" for failure in failures]
    names = table(_NAMES, map(_names, found, works), fold=("name", "vendor", "driver"))
    facts = table(_FACTS, map(_facts, found), right=_NUMBERS)
    told = *_widths(found), *_progress(found), *_in_c(found)
    show(f"gpuprims {gpuprims.__version__}", "", names, "", facts, "", _LEGEND, *told)
    for device, failure in zip(found, failures, strict=True):
        if failure:
            show("", f"{device.spec} {failure}", indented(remedy(device.capabilities)))
    for absence in absences():
        show("", f"{absence.backend} is absent: {absence.reason}", indented(absence.remedy))
    return 0


def _names(device: Device, works: str) -> tuple[str, ...]:
    able = device.capabilities
    return device.spec, shortened(able.name, 26), shortened(able.vendor, 16), shortened(able.driver, 34), works


def _facts(device: Device) -> tuple[str, ...]:
    able = device.capabilities
    flags = (able.fp64, able.fp16, able.int64_atomics, able.forward_progress)
    return (
        device.spec,
        able.kind,
        str(able.compute_units),
        f"{able.memory / 2**30:.0f} GiB" if able.memory else "-",
        str(able.group_limit),
        str(able.local_memory >> 10),
        str(able.subgroup_size or "-"),
        *("yes" if flag else "no" for flag in flags),
    )


def _widths(found: tuple[Device, ...]) -> list[Any]:
    """Return how long the vectors are that each OpenCL driver prefers; CUDA's lanes compute one number each."""
    told = [(device.spec, device.capabilities.vector_widths) for device in found if device.capabilities.vector_widths]
    if not told:
        return []
    dtypes = [dtype for dtype, _ in told[0][1]]
    rows = [(spec, *(str(width or "-") for _, width in widths)) for spec, widths in told]
    title = "numbers of a vector that the driver prefers, as vector_axis= reads them:"
    return ["", title, "", table(("device", *dtypes), rows, right=dtypes)]


def _progress(found: tuple[Device, ...]) -> list[str]:
    """Return why groups of each device run at the same time, or why they may not; the reference has no groups."""
    lines = [f"  {device.spec} {device.capabilities.progress}" for device in found if device.backend != "reference"]
    return ["", "groups of one launch run at the same time (fwd):", "", *lines] if lines else []


def _in_c(found: tuple[Device, ...]) -> list[Any]:
    """Return which work of the host runs in C here."""
    rows: list[tuple[str, str]] = []
    if any(device.backend == "cuda" for device in found):
        from gpuprims.backends.cuda.compiled import CUDA_CALLS
        from gpuprims.backends.cuda.lanes import LANES

        rows += [("calls on CuPy arrays like those of an earlier call", CUDA_CALLS.said())]
        rows += [("copies of large NumPy arrays to GPUs", LANES.said())]
    if any(device.backend == "opencl" and device.driver.shares_host_memory for device in found):
        from gpuprims.backends.opencl.quick import HOST_CALLS
        from gpuprims.ndimage.box_sums import BOX_MEANS
        from gpuprims.primitives.extremes_in_c import EXTREMES
        from gpuprims.primitives.few_orders import ORDERS, PACKS, TRENDS
        from gpuprims.primitives.floats_by_numpy import FLOATS
        from gpuprims.primitives.parts_in_c import PARTS
        from gpuprims.primitives.searchsorted.by_numpy import PLACES
        from gpuprims.primitives.segments.by_numpy import SEGMENT_FLOATS

        rows += [("calls on NumPy arrays like those of an earlier call", HOST_CALLS.said())]
        rows += [("maps, sums and scans of small arrays of floats", FLOATS.said())]
        rows += [("sums of small arrays of floats in segments", SEGMENT_FLOATS.said())]
        rows += [("searches for few keys", PLACES.said())]
        rows += [("extremes and differences", EXTREMES.said())]
        rows += [("sorts and partitions of small arrays", ORDERS.said())]
        rows += [("places of sorted elements", PACKS.said())]
        rows += [("places of elements that rise or fall", TRENDS.said())]
        rows += [("partitions by one rank", PARTS.said())]
        rows += [("means of long boxes of floats", BOX_MEANS.said())]
    return ["", table(("host code", "runs in"), rows, fold=("runs in",))] if rows else []
