"""``gpuprims demo``: run each primitive and a model on real data, beside NumPy, SciPy and scikit-learn.

SciPy, scikit-learn and the models are imported where they are used, because that takes 1.5 s and all commands import
this module.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gpuprims
from gpuprims.cli.terminal import Subparsers, add_device
from gpuprims.core.device import Device, pick_device
from gpuprims.core.explain import explain
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import MissingExtraError


def _grey(pixel: tuple[Any, Any, Any]) -> Any:
    """Return the brightness of a pixel's three channels."""
    red, green, blue = pixel
    return np.float32(0.299) * red + np.float32(0.587) * green + np.float32(0.114) * blue


def add_parser(commands: Subparsers) -> None:
    """Add the command and its argument."""
    add_device(commands.add_parser("demo", help="run the primitives and a model on real data"))


def run(chosen: argparse.Namespace) -> int:
    """Run the demo and print its results."""
    device = pick_device(None, chosen.device)
    able = device.capabilities
    print(f"gpuprims {gpuprims.__version__} on {device.spec}: {able.name} ({able.driver})\n")
    photo = _load_photo()
    grey = _brightness(device, photo)
    _statistics(device, grey)
    _histogram(device, grey)
    _blurred(device, photo)
    _channels(device, photo)
    _model(device)
    print("\nkernels of this device: gpuprims explain\n")
    for primitive in REGISTRY.primitive_names:
        print(explain(primitive, device))
    return 0


def _load_photo() -> np.ndarray:
    try:
        from sklearn.datasets import load_sample_image

        photo: np.ndarray = load_sample_image("china.jpg")
    except ImportError as error:
        raise MissingExtraError("demo", "scikit-learn, and Pillow to read the photograph,", error, "demo") from error
    return photo


def _brightness(device: Device, photo: np.ndarray) -> np.ndarray:
    grey: np.ndarray
    grey, ours = _timed(lambda: gpuprims.map(_grey, photo, vector_axis=-1, device=device))
    expected, theirs = _timed(lambda: _grey((photo[..., 0], photo[..., 1], photo[..., 2])))
    rows, columns = grey.shape
    print(f"photograph of {rows} x {columns} pixels to grey: map(grey, photo, vector_axis=-1)")
    print(f"  largest difference from NumPy   {np.abs(grey - expected).max():.1e} of 255")
    print(f"  {_times(ours, theirs, 'NumPy')}\n")
    return grey


def _statistics(device: Device, grey: np.ndarray) -> None:
    print("grey values: reduce(grey, op=...)")
    print(f"  {'':8}{'gpuprims':>12}{'NumPy':>12}")
    for op in ("min", "max", "mean", "std", "argmax"):
        ours, theirs = gpuprims.reduce(grey, op=op, device=device), getattr(np, op)(grey)
        print(f"  {op:8}{ours:12.4f}{theirs:12.4f}" if grey.dtype == ours.dtype else f"  {op:8}{ours:12}{theirs:12}")
    print()


def _histogram(device: Device, grey: np.ndarray) -> None:
    from gpuprims.models.pictures import draw, sketch

    (counts, edges), ours = _timed(lambda: gpuprims.histogram(grey, bins=64, range=(0, 256), device=device))
    (expected, _), theirs = _timed(lambda: np.histogram(grey, bins=64, range=(0, 256)))
    different = np.count_nonzero(counts != expected)
    print("brightness: histogram(grey, bins=64, range=(0, 256))")
    print(f"  counts                          {f'{different} differ from' if different else 'equal to'} NumPy's")
    print(f"  {_times(ours, theirs, 'NumPy')}")
    for line in sketch(counts):
        print(f"  {line}")
    print(f"  {'0, black':32}{'255, white':>32}")
    print(f"  {draw(counts, edges, Path('brightness.png'))}\n")


def _blurred(device: Device, photo: np.ndarray) -> None:
    from scipy import ndimage

    from gpuprims.models.pictures import side_by_side

    soft, ours = _timed(lambda: gpuprims.blur(photo, "gaussian", sigma=4, channel_axis=-1, device=device))
    expected, theirs = _timed(lambda: ndimage.gaussian_filter(photo.astype(np.float32), 4, mode="nearest", axes=(0, 1)))
    print('blurred: blur(photo, "gaussian", sigma=4, channel_axis=-1)')
    print(f"  largest difference from SciPy   {np.abs(soft - expected).max():.2f} of 255, cut to integers")
    print(f"  {_times(ours, theirs, 'SciPy')}")
    print(f"  {side_by_side((photo, soft), ('photograph', 'blurred'), Path('blur.png'))}\n")


def _channels(device: Device, photo: np.ndarray) -> None:
    print("channels: reduce(photo, axis=(0, 1), op=...)")
    print(f"  {'':8}{'red':>12}{'green':>12}{'blue':>12}")
    for op in ("mean", "std"):
        values = gpuprims.reduce(photo, op=op, axis=(0, 1), device=device)
        print(f"  {op:8}" + "".join(f"{value:12.4f}" for value in values))
    print()


def _model(device: Device) -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    features, labels = load_breast_cancer(return_X_y=True)
    train, test, train_labels, test_labels = train_test_split(
        features, labels, test_size=0.25, random_state=0, stratify=labels
    )
    scaler = StandardScaler().fit(train)
    train, test = (scaler.transform(part).astype(np.float32) for part in (train, test))
    print(f"breast cancer, {len(train)} biopsies for training, {len(test)} held out: LogReg().fit(X, y)")
    model = gpuprims.models.LogReg(device)
    peer = LogisticRegression()
    _, ours = _timed(lambda: model.fit(train, train_labels))
    _, theirs = _timed(lambda: peer.fit(train, train_labels))
    print(f"  iterations                      {model.n_iter_}, {model.n_iter_ / ours:,.0f} a second")
    print(f"  loss, first and last            {model.loss_curve_[0]:.4f}, {model.loss_curve_[-1]:.4f}")
    print(f"  held-out accuracy               {model.score(test, test_labels):.1%}")
    print(f"  scikit-learn's                  {peer.score(test, test_labels):.1%}")
    print(f"  {_times(ours, theirs, 'scikit-learn')}")


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result and the seconds of the second of two runs: the first one compiles."""
    work()
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def _times(ours: float, theirs: float, peer: str) -> str:
    return f"{'time':30}  gpuprims {ours * 1e3:.2f} ms   {peer} {theirs * 1e3:.2f} ms"
