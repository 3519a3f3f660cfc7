"""``gpuprims explain``: show which kernel a call would run, and why."""

from __future__ import annotations

import argparse

from gpuprims.cli.terminal import Subparsers, add_device
from gpuprims.core.explain import explain
from gpuprims.core.registry import REGISTRY


def add_parser(commands: Subparsers) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser("explain", help="show which kernel a call would run, and why")
    parser.add_argument("primitive", choices=REGISTRY.primitive_names, nargs="?", help="all of them by default")
    add_device(parser)
    parser.add_argument("--dtype", default="float32", help="dtype of the elements (float32)")
    parser.add_argument("--size", type=int, default=2**20, help="number of elements (2^20)")
    parser.add_argument("--outputs", type=int, default=1, help="number of outputs of a reduce, each of --size elements")
    parser.add_argument("--side-by-side", action="store_true", help="neighbouring outputs read neighbouring elements")
    parser.add_argument("--op", default="sum", help="operator of a reduce (sum)")
    parser.add_argument("--bins", type=int, default=256, help="number of bins of a histogram (256)")


def run(chosen: argparse.Namespace) -> int:
    """Print the kernels of one primitive, or of all."""
    call = {name: getattr(chosen, name) for name in ("dtype", "size", "outputs", "side_by_side", "op", "bins")}
    names = [chosen.primitive] if chosen.primitive else REGISTRY.primitive_names
    print("\n\n".join(str(explain(name, chosen.device, **call)) for name in names))
    return 0
