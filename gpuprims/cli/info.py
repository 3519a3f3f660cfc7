"""``gpuprims info``: list the devices, and what other backends lack."""

from __future__ import annotations

import argparse

import gpuprims
from gpuprims.cli.terminal import Subparsers, table
from gpuprims.core.capabilities import remedy
from gpuprims.core.device import Device, absences, devices
from gpuprims.errors import shortened

# a64: atomics on 64-bit integers; fwd: forward progress of waiting groups.
_FLAGS = "fp64 fp16 a64  fwd"
_HEADINGS = (
    "device", "kind", "vendor", "name", "driver", "units", "group", "local", "warp", "memory", _FLAGS, "works",
)  # fmt: skip


def add_parser(commands: Subparsers) -> None:
    """Add the command."""
    commands.add_parser("info", help="list the devices, and what is missing for others")


def run(chosen: argparse.Namespace) -> int:
    """Print every device and every absent backend, with what to do about it."""
    found = (*devices(), Device("reference"))
    failures = [device.check() for device in found]
    rows = [_row(device, failure) for device, failure in zip(found, failures, strict=True)]
    lines = [f"gpuprims {gpuprims.__version__}", "", *table([_HEADINGS, *rows])]
    if progress := [f"  {device.spec:12} {device.capabilities.progress}" for device in found[:-1]]:
        lines += ["", "fwd, groups of one launch run at the same time:", *progress]
    if any(device.backend == "cuda" for device in found):
        from gpuprims.backends.cuda.compiled import CUDA_CALLS
        from gpuprims.backends.cuda.lanes import LANES

        lines += ["", f"calls on CuPy arrays that are like an earlier one run in {CUDA_CALLS.said()}"]
        lines += ["", f"large NumPy arrays are copied to GPUs in {LANES.said()}"]
    if any(device.backend == "opencl" and device.driver.shares_host_memory for device in found):
        from gpuprims.backends.opencl.quick import HOST_CALLS

        lines += ["", f"calls on small NumPy arrays that are like an earlier one run in {HOST_CALLS.said()}"]
    for device, failure in zip(found, failures, strict=True):
        if failure:
            lines += ["", f"{device.spec} {failure}\n    {remedy(device.capabilities)}"]
    for absence in absences():
        lines += ["", f"{absence.backend} is absent: {absence.reason}\n    {absence.remedy}"]
    print("\n".join(lines))
    return 0


def _row(device: Device, failure: str | None) -> tuple[str, ...]:
    able = device.capabilities
    flags = (able.fp64, able.fp16, able.int64_atomics, able.forward_progress)
    return (
        device.spec,
        able.kind,
        shortened(able.vendor, 20),
        shortened(able.name, 26),
        shortened(able.driver, 34),
        str(able.compute_units),
        str(able.group_limit),
        f"{able.local_memory >> 10} KiB",
        str(able.subgroup_size or "-"),
        f"{able.memory / 2**30:.0f} GiB" if able.memory else "-",
        "".join(f"{'yes' if flag else 'no':5}" for flag in flags).rstrip(),
        "no" if failure else "yes",
    )
