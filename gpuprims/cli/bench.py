"""``gpuprims bench``: find the benchmark suite, or its landscape of random calls, and run it."""

from __future__ import annotations

import argparse
import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gpuprims.cli.arguments import Subparsers, add_command, add_device, count, make_folder, positive
from gpuprims.errors import ArgumentError, GpuprimsError

# Options that select or show the suite's cases.
_OF_THE_SUITE = ("peers", "full", "variants", "cases", "append", "html", "report", "compare")

_ABOUT = """\
Checks each result before timing it. Writes a table, a JSON report and, with --html, a page with charts. Takes under
three minutes on two cores; needs gpuprims[bench]. The status is 1 if a result is wrong or a case became slower."""
_EXAMPLES = [
    ("gpuprims bench --peers --html", "beside NumPy, SciPy, CuPy, ...; with a page"),
    ('gpuprims bench --cases "scan*2^24; histogram 256,"', "some of the cases"),
    ('gpuprims bench --cases "articles*" --html', "the articles' figures beside this device's, on a page"),
    ("gpuprims bench --compare OLD.json", "measure, and compare with an earlier report"),
    ("gpuprims bench --from NEW.json --compare OLD.json", "compare two reports"),
    ("gpuprims bench --landscape --seed 1 --calls 50", "random calls"),
]


def add_parser(commands: Subparsers) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands, "bench", "time every primitive beside other libraries and the device's limit", about=_ABOUT,
        examples=_EXAMPLES,
    )  # fmt: skip
    add_device(parser)
    parser.add_argument("--peers", action="store_true", help="also time the other libraries that are installed")
    parser.add_argument("--full", action="store_true", help="large sizes and all cases, for a GPU")
    parser.add_argument("--variants", action="store_true", help="also time every kernel by name")
    parser.add_argument("--cases", help="names, parts of names or patterns, separated by semicolons (default: all)")
    parser.add_argument("--out", type=Path, help="folder for the report and the page (default: gpuprims-bench)")
    parser.add_argument("--append", action="store_true", help="add to the existing report")
    parser.add_argument("--html", action="store_true", help="write the report as a page too, with charts beside it")
    parser.add_argument("--from", dest="report", metavar="REPORT.json", type=Path, help="use this report; run nothing")
    parser.add_argument("--compare", metavar="OLD.json", type=Path, help="fail if a case became slower")
    parser.add_argument("--band", type=positive, default=0.1, help="relative difference that counts as noise")
    _add_landscape(parser)
    parser.add_argument("--commit", help="commit to name in the report (default: git's)")


def _add_landscape(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--landscape", action="store_true", help="check and time random calls instead of the suite")
    group = parser.add_argument_group("options of --landscape, beside --device, --out and --commit")
    group.add_argument("--known", action="store_true", help="calls with targets on an H200, in place of random ones")
    group.add_argument("--seed", type=count, metavar="N", default="0", help="the seed that decides the calls")
    group.add_argument("--calls", type=count, metavar="N", default="300", help="number of calls")
    group.add_argument("--only", metavar="NUMBER", type=count, help="run this call of the seed alone")
    sizes = "bytes of a call's first operand, at {} (default: 2^{} on a GPU, 2^{} on a CPU)"
    group.add_argument("--least-bytes", type=count, metavar="N", help=sizes.format("least", 20, 18))
    group.add_argument("--most-bytes", type=count, metavar="N", help=sizes.format("most", 28, 26))
    group.add_argument("--seconds", type=positive, default=0.3, help="seconds of rounds for each call")


def run(chosen: argparse.Namespace) -> int:
    """Run the suite or the landscape, or draw or compare an earlier report."""
    if chosen.landscape:
        given = [name for name in _OF_THE_SUITE if getattr(chosen, name)]
        if given:
            raise ArgumentError(f"bench: --landscape without options of the suite; got {', '.join(given)}")
        if chosen.out:
            make_folder("bench", chosen.out)
        return int(_suite("landscape.command").run(chosen))
    if chosen.known:
        raise ArgumentError("bench: --known with --landscape; got no --landscape")
    if find_spec("pytest") is None:
        raise GpuprimsError("bench: pytest installed; got none: pip install 'gpuprims[bench]'")
    if chosen.out and not chosen.report:
        make_folder("bench", chosen.out)
    suite = _suite("command")
    try:
        return int(suite.run(chosen))
    except ValueError as error:  # the report is missing, or of another schema or device
        raise ArgumentError(str(error)) from error


def _suite(module: str) -> Any:
    """Return a module of the suite, from the wheel or from the clone that holds the package."""
    package = Path(__file__).parents[1]
    if (package / "_bench").is_dir():
        return importlib.import_module(f"gpuprims._bench.{module}")
    if not (package.parent / "bench" / "command.py").is_file():
        raise GpuprimsError(f"bench: the folder bench beside the package; got none in {package.parent}")
    if str(package.parent) not in sys.path:
        sys.path.insert(0, str(package.parent))
    return importlib.import_module(f"bench.{module}")
