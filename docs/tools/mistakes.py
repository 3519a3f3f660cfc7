"""The page of mistakes before and after: ``python docs/tools/mistakes.py`` writes what gpuprims says of each today.

``mistakes-before.json`` has what an earlier version said. To record it again, from another checkout:
``PYTHONPATH=CHECKOUT python docs/tools/mistakes.py --before``.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np

import gpuprims
from gpuprims.models import LogReg

BEFORE = Path(__file__).with_name("mistakes-before.json")
PAGE = Path(__file__).parents[1] / "mistakes-before-and-after.md"
HEAD = """\
# Thirty mistakes, before and after

These are mistakes that a new user may make on the first day; `tests/first_day` has some 500. "Before" is gpuprims at
commit 93ab387b (2026-11-23), "now" is this version. Messages have one form: the call, what it takes, what it got, and
what to write instead. [Errors and warnings](guide/errors.md) says more.

In the calls, `x` is `np.arange(6.0)`, `m` is `x.reshape(2, 3)`, and `F` and `y` are samples and classes.

"""
CALLS = """\
gpuprims.reduce(x, "max")
gpuprims.reduce(x, op="maximum")
gpuprims.reduce(x, op=lambda a, b: a + b)
gpuprims.reduce(x, axes=0)
gpuprims.reduce(x, dim=0)
gpuprims.reduce(x, op="avg")
gpuprims.reduce(v for v in range(3))
gpuprims.scan(x, exclusive=True)
gpuprims.histogramm(x)
gpuprims.histogram(x, nbins=5)
gpuprims.histogram(x, bins=[3, 2, 1])
gpuprims.map("sigmoid(x)", x)
gpuprims.map("x^2", x)
gpuprims.map("x > 0 && x < 2", x)
gpuprims.map("x > 0 ? x : 0", x)
gpuprims.map("np.sqrt(x)", x)
gpuprims.map("x + 1", "data.npy")
gpuprims.map(lambda v: {0: 1}[v], x)
gpuprims.map(lambda v: round(v), x)
gpuprims.map(lambda v: [v, v], x)
gpuprims.stencil(x, lambda n: n * 2)
gpuprims.stencil(x, [1, 2, 1], mode="edge")
gpuprims.stencil(x, [1, 2, 1], mode="constant", cval="0")
gpuprims.blur(m, 2.0)
gpuprims.plan("reduce", x, opp="max")
gpuprims.plan("reduce", x)()
gpuprims.plan("stencil", x)
gpuprims.Device("openlc:cpu")
LogReg("reference", solver="lbgfs").fit(F, y)
LogReg("reference").fit({"a": 1}, y)
""".splitlines()
NAMES = {
    "gpuprims": gpuprims, "LogReg": LogReg, "x": (x := np.arange(6.0)), "m": x.reshape(2, 3),
    "F": np.arange(8.0).reshape(4, 2), "y": np.array([0, 1, 0, 1]),
}  # fmt: skip


def message(call: str) -> str:
    """Return the class and the message of a call's error, or its result."""
    try:
        with gpuprims.use_device("reference"):
            result = eval(call, dict(NAMES))  # noqa: S307 - one of CALLS
    except Exception as error:  # whatever a mistake raises, here and in earlier versions
        text = f"{type(error).__name__}: {error}"
    else:
        text = f"no error: {result!r}"
    return re.sub(r"0x[0-9a-f]{6,}", "0x7f1447fcc160", " ".join(text.split()))


def page() -> str:
    """Return the page, in Markdown."""
    before = json.loads(BEFORE.read_text())
    return HEAD + "".join(
        f"1. {_code(call)}\n   - before: {_code(before[call])}\n   - now: {_code(message(call))}\n" for call in CALLS
    )


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--before"]:
        BEFORE.write_text(json.dumps({call: message(call) for call in CALLS}, indent=2) + "\n")
    else:
        PAGE.write_text(page())
