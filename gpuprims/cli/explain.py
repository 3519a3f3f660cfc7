"""``gpuprims explain``: show which kernel a call would run, and why."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gpuprims.cli.arguments import Subparsers, add_command, add_device, count
from gpuprims.cli.terminal import show, table
from gpuprims.core.device import pick_device
from gpuprims.core.explain import computed_by, explain
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Explanation

if TYPE_CHECKING:
    from rich.console import RenderableType

_ABOUT = """\
A variant is a kernel. Each refuses the calls that it cannot run; of the others, the one with the highest rank runs,
unless `gpuprims tune` found a faster one."""
_EXAMPLES = [
    ("gpuprims explain", "a line for each primitive"),
    ("gpuprims explain reduce -v", "every variant of reduce, with its refusal"),
    ("gpuprims explain reduce --size 16 --outputs 1e5", "sums of 100,000 rows of 16"),
    ("gpuprims explain scan --device cuda --dtype int8", ""),
]


def add_parser(commands: Subparsers) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands, "explain", "show which kernel a call would run, and why", about=_ABOUT, examples=_EXAMPLES
    )
    known = ", ".join(REGISTRY.primitive_names)
    parser.add_argument(
        "primitive",
        type=computed_by,
        choices=REGISTRY.primitive_names,
        nargs="?",
        metavar="PRIMITIVE",
        help=f"{known}; or a function that one of them computes, such as argsort (default: all)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="every variant, and why it refuses")
    add_device(parser)
    parser.add_argument("--dtype", default="float32", help="dtype of the elements")
    parser.add_argument("--size", type=count, metavar="N", default="2^20", help="elements, such as 2^20 or 1e6")
    parser.add_argument(
        "--outputs", type=count, metavar="N", default="1", help="number of outputs of a reduce, each of --size elements"
    )
    parser.add_argument("--side-by-side", action="store_true", help="neighbouring outputs read neighbouring elements")
    parser.add_argument("--op", default="sum", help="operator of a reduce or scan")
    parser.add_argument("--bins", type=count, metavar="N", default="256", help="number of bins of a histogram")


def run(chosen: argparse.Namespace) -> int:
    """Print the choice of one primitive, or of all."""
    call = {name: getattr(chosen, name) for name in ("dtype", "size", "outputs", "side_by_side", "op", "bins")}
    names = [chosen.primitive] if chosen.primitive else REGISTRY.primitive_names
    device = pick_device(None, chosen.device)
    found = [explain(name, device, **call) for name in names]
    if chosen.verbose:
        for number, one in enumerate(found):
            show(*([""] if number else []), *_everything(one))
        return 0
    show(f"{device.spec}, {device.capabilities.name}")
    show(table(("primitive", "variant", "able", "why"), map(_line, found), cut=("why",)), piped=100)
    show("", "able: variants that can run the call; the highest rank runs (-v: all)")
    return 0


def _line(found: Explanation) -> tuple[str, str, str, str]:
    """Return a primitive, its chosen variant, how many could run, and why this one does."""
    able = f"{sum(reason is None for _, reason in found.refusals)} of {len(found.refusals)}"
    if found.chosen is None:
        return found.primitive, "none", able, found.reason or "this backend has no variant"
    why = found.chosen.summary if found.tuned is None else found.tuned.reason
    return found.primitive, found.chosen.name, able, why


def _everything(found: Explanation) -> list[RenderableType]:
    """Return a table of the variants, best rank first."""
    rows: list[tuple[str, ...]] = []
    for variant, reason in found.refusals:
        chosen = found.chosen is not None and variant.entry == found.chosen.entry
        word = "chosen" if chosen else "able" if reason is None else "refused"
        rows.append((word, variant.name, str(variant.rank), variant.summary))
        why = reason or (found.tuned.reason if chosen and found.tuned else "")
        if why:
            rows.append(("", "", "", f"- {why}"))
    what = "what it does, and why it does not run"
    parts: list[RenderableType] = [
        f"{found.primitive} on {found.device}",
        table(("", "variant", "rank", what), rows, right=("rank",), fold=(what,)),
    ]
    if found.capabilities is not None and any(variant.waits for variant, _ in found.refusals):
        parts.append(f"groups of one launch run at the same time: {found.capabilities.progress}")
    return parts
