"""``gpuprims fingerprint``: hash the results of fixed calls and fits, and compare them with those of other devices."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpuprims.cli.arguments import Subparsers, add_command, add_device
from gpuprims.cli.terminal import fail, show
from gpuprims.core.device import pick_device
from gpuprims.errors import shortened

# Names of calls that are shown.
_SHOWN = 12


def add_parser(commands: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        commands, "fingerprint", "hash results that are the same on every device",
        about="Some 250 calls and four fits run at the levels of determinism `device` and `order`, on numbers made by"
        " `random`. The hash of each call is compared with that of this version, which all devices share. Needs"
        " gpuprims[models].",
        examples=[
            ("gpuprims fingerprint", "the value of all calls, and the calls that differ, if any"),
            ("gpuprims fingerprint --device reference --calls", "the hash of each call"),
            ("gpuprims fingerprint --small", "few calls, as for a simulated device"),
        ],
    )  # fmt: skip
    add_device(parser)
    parser.add_argument("--small", action="store_true", help="run few calls of few elements")
    parser.add_argument("--calls", action="store_true", help="print the hash of each call")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the hashes of the device, small and whole")


def run(chosen: argparse.Namespace) -> int:
    """Print the value, and fail if calls differ from those of this version."""
    from gpuprims.testing.fingerprints.suite import VERSION, expected, fingerprint, written  # imports scikit-learn

    device = pick_device(None, chosen.device)
    if chosen.write is not None:
        text = written(*(fingerprint(device, small=small) for small in (True, False)))
        chosen.write.write_text(text)
        show(f"{len(text.splitlines())} hashes of {device.spec} in {chosen.write}")
        return 0
    seen = (lambda name, value: show(f"{value}  {name}")) if chosen.calls else None
    found, known = fingerprint(device, small=chosen.small, seen=seen), expected(small=chosen.small)
    show(f"{found.value}  {len(found.calls)} calls, version {VERSION}, {device.spec} {device.capabilities.name}")
    if not (differing := found.differing(known)):
        show("the value of this version on every device")
        return 0
    more = f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
    got = shortened(found.value, 16)
    fail(f"fingerprint: {known.value}; got {got}, by {', '.join(differing[:_SHOWN])}{more}")
    return 1
