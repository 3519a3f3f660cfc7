"""The public API as a type checker of a user sees it. Pyright and mypy read this file; nothing runs it."""

# pyright: basic, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import gpuprims
from gpuprims import datasets, errors, ndimage
from gpuprims.distributed import LogReg as LogRegOfParts
from gpuprims.models import PCA, FactorAnalysis, LogReg, LogRegBatch, Prototypes, SpamFilter

HostArray = npt.NDArray[Any]
x = np.arange(12.0).reshape(3, 4)


def primitives() -> tuple[object, ...]:
    """Call each primitive with the keywords of its documentation."""
    return (
        gpuprims.map("2*v + 1", x, out=np.empty_like(x), device="reference", variant="numpy"),
        gpuprims.map(lambda v: v * v, x),
        gpuprims.map("v + i*j", x, index=("i", "j")),
        gpuprims.reduce(x, op="max", axis=(0, 1), keepdims=True, dtype="float32"),
        gpuprims.reduce(x, x, map=lambda a, b: a * b, compensated=True),
        gpuprims.scan(x, op="sum", axis=0, inclusive=False),
        gpuprims.cumsum(x),
        gpuprims.cumprod(x, axis=1),
        gpuprims.compact(x[0], x[0] > 1),
        gpuprims.sort(x, axis=0, descending=True, segments=None, less="a < b"),
        gpuprims.argsort(x, axis=None, out=None, less=lambda a, b: a < b, check=True),
        gpuprims.sort_by_key(x[0], x[1], [1, 2, 3, 4], axis=0, less="a > b"),
        gpuprims.lexsort((x[0], x[1]), device="reference"),
        gpuprims.take(x, [0, -1], axis=1, mode="clip"),
        gpuprims.searchsorted(x[0], [1.5, 2.0], side="right"),
        gpuprims.isin(x, [1, 2], invert=True, kind="sort"),
        gpuprims.merge(x[0], x[1], check=True),
        gpuprims.reduce(x[0], by=[1, 2, 1, 2], op="max"),
        gpuprims.scan(x[0], by=[1, 2, 1, 2]),
        gpuprims.group_by([1, 2, 1, 2], x[0], x[1], op="mean"),
        gpuprims.unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False),
        gpuprims.unique_consecutive(x, return_counts=True),
        gpuprims.run_length_decode(*gpuprims.run_length_encode(x)),
        gpuprims.histogram(x, bins=5, range=(0, 12)),
        gpuprims.bincount(np.array([1, 2, 2]), minlength=4),
        gpuprims.histogram2d(x, x, bins=(2, [0, 1, 2]), range=(None, None)),
        gpuprims.histogramdd([x, x, x], bins=2, density=True),
        gpuprims.blur(x, "gaussian", sigma=1.5),
        gpuprims.stencil(x, np.ones((3, 3)), mode="wrap"),
        gpuprims.top_k(x, 2, axis=1, largest=False),
        gpuprims.median(x, 0, keepdims=True),
        gpuprims.quantile(x, [0.1, 0.9], axis=1, method="lower"),
        gpuprims.percentile(x, 10, method="lower"),
        gpuprims.partition(x, 2, axis=0),
        gpuprims.argpartition(x, (0, 2)),
        gpuprims.diff(x, 2, axis=0, prepend=0.0),
        gpuprims.count_nonzero(x, axis=1, keepdims=True),
        gpuprims.nonzero(x),
        gpuprims.argwhere(x),
        gpuprims.digitize(x, [1, 2, 3], right=True),
        gpuprims.random((7, 1), (2, 3), "integers", low=1, high=7, dtype="int8"),
        gpuprims.hash_counts([["a", "b"]], n_features=16, analyzer=str.split),
    )


def beyond_one_device() -> tuple[object, ...]:
    """Call a group of devices and a stream."""
    group = gpuprims.DeviceGroup(["reference", "reference"])
    sharded = group.scatter(x)
    return (
        group.map("2*v + 1", sharded),
        group.reduce(sharded, op="std", axis=0, ddof=1, where=group.map("v > 0", sharded)),
        group.scan(sharded, op="max", axis=0, inclusive=False),
        group.histogram(sharded, bins=5, range=(0, 12), density=True),
        group.blur(sharded, "gaussian", sigma=1.5, mode="wrap").gather(),
        group.from_shards([x, x]).shards,
        group.sort(sharded, axis=None, descending=True).gather(),
        group.top_k(sharded, 2, largest=False)[0],
        LogRegOfParts(C=0.5).fit(sharded, [0, 1, 1]).predict(sharded),
        gpuprims.stream(x, chunk=2, device="reference", verbose=False).reduce(op="mean", axis=0, resume=None),
        LogRegOfParts().fit(gpuprims.stream(x, x[:, 0] > 1)).coef_,
        *gpuprims.stream([x, x]).scan(op="sum"),
    )


def filters() -> tuple[object, ...]:
    """Call filters of ndimage with SciPy's arguments."""
    return (
        ndimage.correlate(x, np.ones((3, 3)), None, "wrap", 0.0, (0, 1)),
        ndimage.convolve1d(x, [1, 2], axis=0, output=np.float32),
        ndimage.gaussian_filter(x, (1, 2), order=(0, 1), truncate=3.0, device="reference"),
        ndimage.uniform_filter(x, 3, mode=["reflect", "nearest"]),
        ndimage.sobel(x, 0),
        ndimage.gaussian_laplace(x, 1.5, axes=(0,)),
        ndimage.median_filter(x, size=(3, 5), output=x),
        ndimage.generic_filter(x, lambda v: v.max() - v[0], 3),
        ndimage.grey_opening(x, structure=np.zeros((3, 3))),
        ndimage.binary_dilation(x, iterations=2, mask=x),
        ndimage.maximum_filter(x, footprint=np.ones((3, 3), bool), mode="constant"),
    )


class Tensor:
    """An array of another library."""

    shape: tuple[int, ...] = ()
    dtype = "float32"


def results(tensor: Tensor, a: npt.NDArray[np.float64], small: np.ndarray[tuple[int], np.dtype[np.float32]]) -> None:
    """NumPy's arrays give NumPy's arrays, and arrays of other libraries their own class."""
    assert_type(gpuprims.map("2*v + 1", a), HostArray)
    assert_type(gpuprims.map("a*v", [1.0, 2.0], a=2.0), HostArray)
    assert_type(gpuprims.map("a*v", tensor, a=2.0), Tensor)
    assert_type(gpuprims.map("2*v + 1", a, out=small), np.ndarray[tuple[int], np.dtype[np.float32]])
    assert_type(gpuprims.scan(a, op="max", axis=1), HostArray)
    assert_type(gpuprims.scan(tensor), Tensor)
    assert_type(gpuprims.cumsum(a), HostArray)
    assert_type(gpuprims.cumprod(tensor, 0), Tensor)
    assert_type(gpuprims.compact(np.zeros(3, np.uint8), "v > 0"), npt.NDArray[np.uint8])
    assert_type(gpuprims.compact(tensor, "v > 0"), Tensor)
    assert_type(gpuprims.top_k(np.zeros(3, np.uint8), 2), tuple[npt.NDArray[np.uint8], HostArray])
    assert_type(gpuprims.top_k(tensor, 2), tuple[Tensor, Tensor])
    into = gpuprims.top_k(a, 2, out=(a, small))
    assert_type(into, tuple[npt.NDArray[np.float64], np.ndarray[tuple[int], np.dtype[np.float32]]])
    assert_type(gpuprims.sort(np.zeros(3, np.uint8)), npt.NDArray[np.uint8])
    assert_type(gpuprims.sort(tensor, axis=0), Tensor)
    assert_type(gpuprims.argsort(a, descending=True), HostArray)
    assert_type(gpuprims.argsort(tensor), Tensor)
    assert_type(gpuprims.lexsort((a, a)), HostArray)
    assert_type(gpuprims.lexsort([tensor, tensor]), Tensor)
    assert_type(gpuprims.take(np.zeros(3, np.uint8), [1]), npt.NDArray[np.uint8])
    assert_type(gpuprims.take(tensor, tensor, 0), Tensor)
    assert_type(gpuprims.take(a, [1], out=small), np.ndarray[tuple[int], np.dtype[np.float32]])
    assert_type(gpuprims.searchsorted(a, 3.0), HostArray)
    assert_type(gpuprims.searchsorted(tensor, tensor, "right"), Tensor)
    assert_type(gpuprims.isin(tensor, [1, 2]), Tensor)
    assert_type(gpuprims.merge(a, a), HostArray)
    assert_type(gpuprims.merge(tensor, tensor), Tensor)
    assert_type(gpuprims.unique(a), HostArray)
    assert_type(gpuprims.unique(tensor), Tensor)
    assert_type(gpuprims.unique_consecutive(tensor), Tensor)
    assert_type(gpuprims.run_length_encode(a), tuple[HostArray, HostArray])
    assert_type(gpuprims.run_length_decode(tensor, tensor), Tensor)
    assert_type(gpuprims.blur(np.zeros((3, 4), np.uint8), "box", size=3), npt.NDArray[np.uint8])
    assert_type(gpuprims.blur(tensor, sigma=2), Tensor)
    assert_type(gpuprims.stencil(a, [1, 2, 1]), HostArray)
    assert_type(gpuprims.stencil(tensor, lambda n: n[0] - n[1], mode="wrap"), Tensor)
    assert_type(gpuprims.histogram(a, 10, (0, 1)), tuple[HostArray, HostArray])
    assert_type(gpuprims.bincount(tensor), Tensor)
    assert_type(gpuprims.diff(a, 2), HostArray)
    assert_type(gpuprims.diff(tensor, axis=0), Tensor)
    assert_type(gpuprims.digitize([0.5, 2.5], [1, 2, 3]), HostArray)
    assert_type(gpuprims.digitize(tensor, [1, 2, 3]), Tensor)
    assert_type(gpuprims.nonzero(a), tuple[HostArray, ...])
    assert_type(gpuprims.argwhere(tensor), Tensor)
    assert_type(gpuprims.random((7, 1), (3, 4), "normal", dtype=np.float32), HostArray)
    assert_type(gpuprims.random(tensor, 5), Tensor)
    assert_type(gpuprims.random(7, out=small), np.ndarray[tuple[int], np.dtype[np.float32]])
    assert_type(gpuprims.reduce(a, axis=0, out=tensor), Tensor)
    number: int | float | bool | complex = gpuprims.plan("reduce", a).item(a)
    print(number + 1)


def records() -> None:
    """Use what the library returns by its attributes."""
    plan: gpuprims.Plan = gpuprims.plan("reduce", x, op="sum")
    device: gpuprims.Device = plan.device
    chosen: gpuprims.Variant | None = gpuprims.explain("reduce", device).chosen
    if chosen is not None:
        geometry: gpuprims.Geometry = chosen.geometry
        print(geometry.block, chosen.rank + 1)
    capabilities: gpuprims.Capabilities = device.capabilities
    print(capabilities.name.upper(), [found.spec for found in gpuprims.devices()])
    with gpuprims.use_device("reference"):
        print(plan.item(x))
    with gpuprims.use_stream(gpuprims.current_stream(device), device) as stream:
        handle: int = stream.handle
        print(handle + 1)
    print(gpuprims.xp.sum(x, axis=0), gpuprims.xp.sqrt(x), gpuprims.xp.unique_counts(x).counts)
    add = gpuprims.Op(lambda a, b: a + b, 0, commutative=True)
    try:
        gpuprims.reduce(x, op=add)
        gpuprims.reduce(x, op=np.maximum, where=x > 0, initial=0)
        gpuprims.scan(x, op=max, initial=0, reverse=True)
    except errors.GpuprimsError as error:
        print(str(error))


def models() -> None:
    """Fit, predict, save and load."""
    model: LogReg = LogReg(C=1.0, solver="lbfgs", backend="reference").fit(x, np.array([0, 1, 1]))
    model.save("model.npz")
    assert_type(datasets.two_normals(10, means=[[0, 0], [1, 1]])[0], HostArray)
    assert_type(PCA(2).fit(x).sample(3), HostArray)
    likelihood: float = FactorAnalysis(n_components=1, tol=1e-3).fit(x).score(x)
    print(likelihood + 1, Prototypes("l2").fit(x, [0, 1, 1]).predict(x))
    batch: LogRegBatch = LogRegBatch(C=[1.0, 2.0]).fit(x, np.array([0, 1, 1]), offsets=[0, 2, 3])
    print(batch.inference_.p_values, batch.predict(x))
    print(LogReg.load("model.npz", backend="reference").predict(x), SpamFilter.load)


def mistakes() -> None:
    """Wrong keywords are errors of the type checkers; an ignore without an error fails."""
    gpuprims.reduce(x, operator="sum")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpuprims.scan(x, exclusive=True)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpuprims.reduce(x, op="median")  # type: ignore[call-overload]  # pyright: ignore
    gpuprims.scan(x, op="cumsum")  # type: ignore[call-overload]  # pyright: ignore
    gpuprims.reduce(x, axis="rows")  # type: ignore[call-overload]  # pyright: ignore
    gpuprims.cumsum(x, devcie="cpu")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpuprims.blur(x, "gausian")  # type: ignore[call-overload]  # pyright: ignore
    gpuprims.stencil(x, [1, 2, 1], mode="edge")  # type: ignore[call-overload]  # pyright: ignore
    gpuprims.sort(x, reverse=True)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpuprims.argsort(x, axis="rows")  # type: ignore[call-overload]  # pyright: ignore
    gpuprims.top_k(x, 2.5)  # type: ignore[call-overload]  # pyright: ignore
    gpuprims.take(x, [0], mode="wrapped")  # type: ignore[call-overload]  # pyright: ignore
    gpuprims.searchsorted(x, x, "middle")  # type: ignore[call-overload]  # pyright: ignore
    gpuprims.merge(x, x, axis=0)  # type: ignore[call-overload]  # pyright: ignore
    gpuprims.map("x", x, device=0)  # type: ignore[call-overload]  # pyright: ignore
    gpuprims.unique(x, axis=0)  # type: ignore[call-overload]  # pyright: ignore
    gpuprims.diff(x, order=2)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpuprims.digitize(x, [1, 2], side="left")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpuprims.random(7, 5, "gaussian")  # type: ignore[call-overload]  # pyright: ignore
    gpuprims.random(7, 5, size=5)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    gpuprims.xp.sum(x, dim=0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    ndimage.gaussian_filter(x, 1, ksize=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    LogRegBatch(solver="lbfgs")  # pyright: ignore[reportCallIssue]
    gpuprims.histogram(x, nbins=5)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
