"""``gpuprims demo``: run primitives and a model on real data, beside NumPy, SciPy and scikit-learn.

SciPy, scikit-learn and the models are imported where they are used, because that takes 1.5 s and all commands import
this module.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import gpuprims
from gpuprims.cli.arguments import Subparsers, add_command, add_device, make_folder
from gpuprims.cli.terminal import progress, show, table
from gpuprims.core.device import Device, pick_device
from gpuprims.errors import MissingExtraError

_ABOUT = """\
The data are a photograph, repeated until it has as many pixels as a camera's, and generated samples of two classes.
Each call runs twice, because the first one compiles, and the second is timed. Needs gpuprims[demo]."""
_EXAMPLES = [
    ("gpuprims demo", "a table of times, on the fastest device"),
    ("gpuprims demo --device opencl:cpu --out pictures", "also draw the histogram and the blurred photograph"),
]
_HEADINGS = ("call", "gpuprims", "peer", "its time", "faster", "difference")
# Copies of the photograph beside and below each other; one for the reference, whose blur would take a minute.
_COPIES = 5
_SAMPLES, _FEATURES, _CALLS = 100_000, 50, 7


@dataclass(frozen=True)
class Timed:
    """A call of gpuprims and its peer: both times in seconds, the difference of the results, and a line about it."""

    call: str
    ours: float
    peer: str
    theirs: float
    difference: str
    note: str = ""

    @property
    def gain(self) -> float:
        """Return how many times as fast gpuprims is."""
        return self.theirs / self.ours

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the cells under _HEADINGS."""
        return (self.call, _ms(self.ours), self.peer, _ms(self.theirs), f"{self.gain:.1f} x", self.difference)


def add_parser(commands: Subparsers) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands, "demo", "run the primitives and a model on real data", about=_ABOUT, examples=_EXAMPLES
    )
    add_device(parser)
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="write brightness.png and blur.png to this folder")


def run(chosen: argparse.Namespace) -> int:
    """Run the demo and print its results."""
    device = pick_device(None, chosen.device)
    if chosen.out is not None:
        make_folder("demo", chosen.out)
    photo = _load_photo()
    copies = 1 if device.backend == "reference" else _COPIES
    large = np.tile(photo, (copies, copies, 1))
    able = device.capabilities
    print(f"gpuprims {gpuprims.__version__} on {device.spec}: {able.name} ({able.driver})")
    size = f"{large.shape[0]:,} x {large.shape[1]:,} pixels ({copies} x {copies} copies)"
    print(f"photograph of {size}; {_SAMPLES:,} samples of {_FEATURES} features\n")
    bench = _Photograph(device, large)
    rows: list[Timed] = []
    with progress(_CALLS) as tell:
        tell(0, "compiling")
        for row in chain(bench.rows(), _model(device)):
            rows.append(row)
            tell(len(rows), f"after {row.call}")
    show(table(_HEADINGS, (row.cells for row in rows), right=("gpuprims", "its time", "faster"), fold=("call",)))
    best = max(rows, key=lambda row: row.gain)
    wins = sum(row.gain > 1 for row in rows)
    most = f", most in {best.call}: {best.gain:.1f} times as fast as {best.peer}" if wins else ""
    print(f"\nfaster in {wins} of {len(rows)} calls{most}")
    print(*(row.note for row in rows if row.note), sep="\n")
    _pictures(bench, photo.shape, chosen.out)
    print("\nWhich kernel ran, and why: gpuprims explain. More, and larger: gpuprims bench --peers")
    return 0


def _load_photo() -> np.ndarray:
    try:
        from sklearn.datasets import load_sample_image

        photo: np.ndarray = load_sample_image("china.jpg")
    except ImportError as error:
        raise MissingExtraError("demo", "scikit-learn, and Pillow to read the photograph,", error, "demo") from error
    return photo


def _grey(pixel: tuple[Any, Any, Any]) -> Any:
    """Return the brightness of a pixel's three channels."""
    red, green, blue = pixel
    return np.float32(0.299) * red + np.float32(0.587) * green + np.float32(0.114) * blue


class _Photograph:
    """The calls on a photograph. A GPU gets its arrays before the clock starts; a CPU computes on NumPy's."""

    def __init__(self, device: Device, photo: np.ndarray) -> None:
        self._device, self.photo = device, photo
        self.counts = self.edges = self.soft = np.zeros(0)

    def rows(self) -> Iterator[Timed]:
        """Race each call."""
        from scipy import ndimage

        photo = self.photo
        device: dict[str, Any] = {"device": self._device}
        there = self._there(photo)
        grey, row = self._raced(
            "map(brightness, photo)", lambda: gpuprims.map(_grey, there, vector_axis=-1, **device),
            lambda: _grey((photo[..., 0], photo[..., 1], photo[..., 2])),
        )  # fmt: skip
        yield row
        x = self._there(grey)
        yield self._raced('reduce(grey, op="std")', lambda: gpuprims.reduce(x, op="std", **device), grey.std)[1]
        yield self._raced('scan(grey, op="max")', lambda: gpuprims.scan(x.reshape(-1), op="max", **device),
                          lambda: np.maximum.accumulate(grey.reshape(-1)))[1]  # fmt: skip
        yield self._raced('compact(grey, "x > 200")', lambda: gpuprims.compact(x.reshape(-1), "x > 200", **device),
                          lambda: grey[grey > 200])[1]  # fmt: skip
        how: dict[str, Any] = {"bins": 64, "range": (0, 256)}
        self.edges = np.histogram_bin_edges([], **how)
        self.counts, row = self._raced(
            "histogram(grey, 64, (0, 256))", lambda: gpuprims.histogram(x, **how, **device)[0],
            lambda: np.histogram(grey, **how)[0],
        )  # fmt: skip
        yield row
        self.soft, row = self._raced(
            'blur(photo, "gaussian", sigma=4)',
            lambda: gpuprims.blur(there, "gaussian", sigma=4, channel_axis=-1, **device),
            lambda: ndimage.gaussian_filter(photo.astype(np.float32), 4, mode="nearest", axes=(0, 1)), peer="SciPy",
        )  # fmt: skip
        yield row

    def _there(self, array: np.ndarray) -> Any:
        return self._device.asarray(array) if self._device.capabilities.kind == "gpu" else array

    def _raced(
        self, call: str, ours: Callable[[], Any], theirs: Callable[[], Any], peer: str = "NumPy"
    ) -> tuple[Any, Timed]:
        """Return a call's result on the host, and both times."""
        found, seconds = _timed(self._device, ours)
        expected, beside = _timed(self._device, theirs)
        host = found if isinstance(found, np.ndarray | np.generic) else self._device.to_host(found)
        host = np.asarray(host)
        return host, Timed(call, seconds, peer, beside, _difference(host, np.asarray(expected)))


def _difference(found: np.ndarray, expected: np.ndarray) -> str:
    """Return the largest difference relative to the largest value; integers are cut as gpuprims' results are."""
    if found.shape != expected.shape:
        return f"{found.size:,} elements for {expected.size:,}"
    expected = expected.astype(found.dtype)
    off = np.abs(found.astype(np.float64) - expected).max(initial=0)
    if found.dtype.kind in "iu":
        return "none" if off == 0 else f"{off:.0f} of {expected.max()}"
    return "none" if off == 0 else f"{off / np.abs(expected).max():.1e}"


def _model(device: Device) -> Iterator[Timed]:
    from sklearn.datasets import make_classification
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split

    X, labels = make_classification(_SAMPLES, _FEATURES, n_informative=10, flip_y=0.05, random_state=0)
    train, test, train_labels, test_labels = train_test_split(
        X.astype(np.float32), labels, test_size=0.2, random_state=0
    )
    model, peer = gpuprims.models.LogReg(device), LogisticRegression()
    _, ours = _timed(device, lambda: model.fit(train, train_labels))
    _, theirs = _timed(device, lambda: peer.fit(train, train_labels))
    scores = model.score(test, test_labels), peer.score(test, test_labels)
    note = f"of {len(test):,} other samples, LogReg labels {scores[0]:.1%} right, scikit-learn {scores[1]:.1%}"
    yield Timed("LogReg().fit(X, y)", ours, "scikit-learn", theirs, f"{abs(scores[0] - scores[1]):.1%}", note)


def _pictures(bench: _Photograph, shape: tuple[int, ...], out: Path | None) -> None:
    """Print the histogram, and draw the pictures if a folder is named."""
    from gpuprims.models.pictures import draw, side_by_side, sketch

    print("\nthe photograph's brightness, from 0 (black) to 255 (white):")
    print(*sketch(bench.counts), sep="\n")
    if out is not None:
        part = slice(shape[0]), slice(shape[1])
        print()
        print(draw(bench.counts, bench.edges, out / "brightness.png"))
        print(side_by_side((bench.photo[part], bench.soft[part]), ("photograph", "blurred"), out / "blur.png"))


def _timed(device: Device, work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result and the seconds of the second of two runs: the first one compiles."""
    work()
    device.synchronize()
    start = time.perf_counter()
    result = work()
    device.synchronize()
    return result, time.perf_counter() - start


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
