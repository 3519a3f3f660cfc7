"""The command line: ``gpuprims info``, ``demo``, ``explain``, ``tune``, ``bench`` and ``spam``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import gpuprims
from gpuprims.cli import kernels
from gpuprims.cli.bench import add_bench_arguments, run_bench
from gpuprims.cli.demo import run_demo
from gpuprims.cli.spam import add_spam_arguments, run_spam
from gpuprims.cli.terminal import run_command
from gpuprims.cli.tune import add_tune_arguments, run_tune
from gpuprims.core.device import Device, absences, devices, remedy
from gpuprims.core.explain import PRIMITIVES, explain
from gpuprims.errors import GpuprimsError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0, or 1 after an error that is printed in one line.

    ``bench`` also returns 1 if a result is wrong or something became slower. The status is 130 after Ctrl-C, and 141 if
    the program that reads the output has ended.
    """
    return run_command(lambda: _run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    chosen = _parser().parse_args(arguments)
    try:
        if chosen.command == "info":
            print(info())
        elif chosen.command == "demo":
            run_demo(chosen.device)
        elif chosen.command == "spam":
            run_spam(chosen)
        elif chosen.command == "tune":
            run_tune(chosen)
        elif chosen.command == "kernels":
            return kernels.run(chosen)
        elif chosen.command == "bench":
            return run_bench(chosen)
        else:
            print(_explained(chosen))
    except GpuprimsError as error:
        print(f"gpuprims: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpuprims", description="Parallel primitives on any device.")
    parser.add_argument("--version", action="version", version=f"gpuprims {gpuprims.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="list the devices, and what is missing for others")
    demo = commands.add_parser("demo", help="run the primitives and a model on real data")
    explained = commands.add_parser("explain", help="say which kernel a call would run, and why")
    explained.add_argument("primitive", choices=PRIMITIVES, nargs="?", help="by default all of them")
    tuned = commands.add_parser("tune", help="search for faster kernels on a device, and use them from then on")
    kernels.add_parser(commands)
    spam = commands.add_parser("spam", help="train a spam filter on a file, or label the lines of standard input")
    bench = commands.add_parser("bench", help="measure every primitive beside its peers and the device's limit")
    for command in (demo, explained, tuned, spam, bench):
        command.add_argument("--device", help="a spec such as cuda:0, opencl:gpu, opencl:cpu or reference")
    explained.add_argument("--dtype", default="float32")
    explained.add_argument("--size", type=int, default=2**20, help="number of elements")
    explained.add_argument("--outputs", type=int, default=1, help="outputs of a reduce, of so many elements each")
    explained.add_argument("--side-by-side", action="store_true", help="outputs as a matrix has columns")
    explained.add_argument("--op", default="sum", help="the operator of a reduce")
    explained.add_argument("--bins", type=int, default=256, help="bins of a histogram")
    add_tune_arguments(tuned)
    add_spam_arguments(spam)
    add_bench_arguments(bench)
    return parser


def _explained(chosen: argparse.Namespace) -> str:
    """Return the table of one primitive's kernels, or of all."""
    call = {"dtype": chosen.dtype, "size": chosen.size, "outputs": chosen.outputs, "bins": chosen.bins}
    call["side_by_side"] = chosen.side_by_side
    names = [chosen.primitive] if chosen.primitive else PRIMITIVES
    return "\n\n".join(str(explain(name, chosen.device, op=chosen.op, **call)) for name in names)


def info() -> str:
    """Return a table of every device and of every backend that is absent, with what mends it."""
    lines = [f"gpuprims {gpuprims.__version__}", ""]
    rows = [_row(device) for device in (*devices(), Device("reference"))]
    lines += _table([_HEADINGS, *(row for row, _ in rows)])
    problems = [problem for _, problem in rows if problem]
    problems += [f"{absence.backend} is absent: {absence.reason}\n    {absence.remedy}" for absence in absences()]
    progress = [f"  {one.spec:12} {one.capabilities.progress}" for one in devices()]
    if progress:
        lines += ["", "fwd, groups of one launch run at the same time:", *progress]
    return "\n".join([*lines, *(f"\n{problem}" for problem in problems)])


# a64: atomics on 64-bit integers; fwd: forward progress of waiting groups.
_FLAGS = "fp64 fp16 a64  fwd"
_HEADINGS = (
    "device", "kind", "vendor", "name", "driver", "units", "group", "local", "warp", "memory", _FLAGS, "works",
)  # fmt: skip


def _row(device: Device) -> tuple[tuple[str, ...], str]:
    """Return a device's line, and what is to be said of it below the table."""
    able = device.capabilities
    failure = device.check()
    flags = "".join(
        f"{'yes' if flag else 'no':5}" for flag in (able.fp64, able.fp16, able.int64_atomics, able.forward_progress)
    )
    row = (
        device.spec,
        able.kind,
        _short(able.vendor, 20),
        _short(able.name, 26),
        _short(able.driver, 34),
        str(able.compute_units),
        str(able.group_limit),
        f"{able.local_memory >> 10} KiB",
        str(able.subgroup_size or "-"),
        f"{able.memory / 2**30:.0f} GiB" if able.memory else "-",
        flags.rstrip(),
        "no" if failure else "yes",
    )
    return row, f"{device.spec} {failure}\n    {remedy(device)}" if failure else ""


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
