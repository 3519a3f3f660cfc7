"""Calls of ``bench.record`` that fit models, that run plans, or that name a variant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

import gpuprims
from gpuprims.models import LogReg, SpamFilter, generated_mail, train_filter

from .record_kit import AFFINE, UNSTEADY, Call, Kit, array, found, samples, sparse_samples


def logistics(kit: Kit) -> Iterator[Call]:
    """Yield calls of logistic regression and of sparse products."""
    gradient, rows = found("logistic_gradient"), 501 if kit.quick else 4_001
    for dtype in ("float32", "float64"):
        for columns in (1, 17, 100) if kit.quick else (1, 17, 100, 1024):
            yield kit.call(f"gradient {columns} {dtype}", gradient, *samples(dtype, rows, columns))
    X, y, weights = samples("float32", rows, 30)
    there, order = [kit.device.asarray(x) for x in (X, y, weights)], np.arange(200, dtype=np.int32) * 7 % 200
    yield kit.call("gradient, device", gradient, *there)
    yield kit.call("gradient weighted", gradient, X, y, np.append(weights, 1).astype("f4"), sample_weight=np.abs(y + 1))
    yield kit.call("descent", found("logistic_descent"), X[:200], y[:200], weights, rate=0.01, steps=20, decay=1e-3)
    yield kit.call("sgd", found("logistic_sgd"), X, y, weights, order, rate=0.05, keep=0.999)
    yield kit.call("sgd, device", found("logistic_sgd"), *there, kit.device.asarray(order), rate=0.05)
    yield kit.call("hogwild", found("logistic_hogwild"), X, y, weights, order, rate=0.05, exact=False)
    for dtype in ("float32", "float64"):
        A = sparse_samples(dtype, rows)
        for beside in (A.shape[1],), (A.shape[1], 5):
            parts = A.data, A.indices, A.indptr, array(dtype, *beside)
            yield kit.call(f"csr_product {beside} {dtype}", found("csr_product"), *parts)
    yield kit.call("csr_product, device", found("csr_product"), *(kit.device.asarray(part) for part in parts))


def plans(kit: Kit) -> Iterator[Call]:
    """Yield calls of plans."""
    x = kit.device.asarray(array("float32", kit.n))
    there = [kit.device.asarray(part) for part in samples("float32", 501, 12)]
    yield Call("plan map", _planned("map", "3*x - 1", x))
    yield Call("plan reduce", _planned("reduce", x, op="norm"))
    yield Call("plan reduce, item", _planned("reduce", x, op="std", item=True))
    yield Call("plan scan", _planned("scan", x, op="max", inclusive=False))
    yield Call("plan logistic", _planned("logistic", *there))


def _planned(primitive: str, *arrays: Any, item: bool = False, **keywords: Any) -> Callable[[], Any]:
    """Return a call of a plan that its first run makes."""
    make = cache(partial(gpuprims.plan, primitive, *arrays, **keywords))
    given = [x for x in arrays if not isinstance(x, str)]
    return lambda: make().item(*given) if item else make()(*given)


def by_name(kit: Kit) -> Iterator[Call]:
    """Yield calls that name each variant of each primitive."""
    x, whole = array("float32", kit.n + 2), array("int32", kit.n + 2)
    matrix, pair = array("float32", kit.side + 2, kit.side), (1 + x / 1024, x)
    small, image = array("uint8", kit.n + 2), array("float32", kit.side + 2, kit.side)
    rows = np.linspace(0, kit.n + 2, kit.side, dtype=int)
    X, y, weights = samples("float32", 301, 18)
    order, A = np.arange(300, dtype=np.int32), sparse_samples("float32", 301)
    steps: dict[str, Any] = {"order": order, "rate": 0.05}
    asked: dict[str, list[tuple[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]]] = {
        "map": [
            ("float32", gpuprims.map, ("x*x - 1", x), {}),
            ("transposed", gpuprims.map, ("x*x - 1", matrix.T), {}),
        ],
        "reduce": [
            ("float32", gpuprims.reduce, (x,), {}),
            ("int32", gpuprims.reduce, (whole,), {}),
            ("axis 0", gpuprims.reduce, (matrix,), {"axis": 0}),
            ("axis 1", gpuprims.reduce, (matrix,), {"axis": 1, "op": "argmax"}),
            ("affine", gpuprims.reduce, pair, {"op": AFFINE}),
        ],
        "scan": [
            ("float32", gpuprims.scan, (x,), {}),
            ("int32", gpuprims.scan, (whole,), {}),
            ("axis 0", gpuprims.scan, (matrix,), {"axis": 0}),
            ("affine", gpuprims.scan, pair, {"op": AFFINE}),
        ],
        "segments": [("mean", gpuprims.reduce, (x,), {"segments": rows, "op": "mean"})],
        "compact": [("float32", gpuprims.compact, (x, "x > 1"), {})],
        "histogram": [
            ("bytes", gpuprims.bincount, (small,), {"minlength": 256}),
            ("float32", gpuprims.histogram, (x, 50, (-3, 3)), {}),
            ("weights", gpuprims.histogram, (x, 50, (-3, 3)), {"weights": x}),
        ],
        "stencil": [
            ("3 x 3", gpuprims.stencil, (image, np.array([[1, 2, 1], [2, 5, 2], [1, 2, 1]], "float32")), {}),
            ("box", gpuprims.blur, (small[: kit.n // 9 * 9].reshape(9, -1), "box"), {}),
            ("gaussian", gpuprims.blur, (image, "gaussian"), {}),
        ],
        "logistic": [("float32", found("logistic_gradient"), (X, y, weights), {})],
        "descent": [("float32", found("logistic_descent"), (X, y, weights), {"rate": 0.01, "steps": 9})],
        "sgd": [("float32", found("logistic_sgd"), (X, y, weights), steps)],
        "hogwild": [("float32", found("logistic_hogwild"), (X, y, weights), steps)],
        "csr": [("float32", found("csr_product"), (A.data, A.indices, A.indptr, array("float32", 60)), {})],
    }
    for primitive, ways in asked.items():
        for variant in dict.fromkeys(kit.variants(primitive)):
            exact = variant not in UNSTEADY and primitive != "hogwild"
            for way, function, arrays, keywords in ways:
                steady = exact or (way == "int32" and variant != "lock_free")
                name = f"{primitive}/{variant} {way}"
                yield kit.call(name, function, *arrays, variant=variant, exact=steady, **keywords)


def models(kit: Kit) -> Iterator[Call]:
    """Yield fits of each solver, and spam filters."""
    X, y, _ = samples("float32", 301, 12)
    three = samples("float32", 301, 12, classes=3)[1]
    fits: Iterable[tuple[str, Any, Any, dict[str, Any]]] = (
        ("lbfgs", X, y, {}),
        ("lbfgs of three classes", X, three, {"max_iter": 10}),
        ("lbfgs float64", X.astype("f8"), y, {"max_iter": 10}),
        ("lbfgs sparse", sparse_samples("float32", 301), y, {"max_iter": 10}),
        ("lbfgs int8 balanced", X, y, {"feature_dtype": "int8", "class_weight": "balanced", "max_iter": 10}),
        ("newton-cholesky", X, y, {"solver": "newton-cholesky"}),
        ("gd", X, y, {"solver": "gd", "max_iter": 40}),
        ("minibatch", X, y, {"solver": "minibatch", "batch_size": 64, "max_iter": 3}),
        ("sgd", X, y, {"solver": "sgd", "max_iter": 3}),
        ("hogwild", X, y, {"solver": "hogwild", "max_iter": 3}),
    )
    for name, X, labels, how in fits:
        yield kit.call(f"LogReg {name}", _fitted, X, labels, exact=name != "hogwild", **how)
    yield Call("SpamFilter", partial(_labelled, kit.device))
    if not kit.quick:
        yield Call("train_filter", partial(_trained, kit.device))


def _fitted(X: Any, y: Any, *, device: Any, **how: Any) -> tuple[Any, ...]:
    model = LogReg(device=device, random_state=0, **how).fit(X, y)
    return model.coef_, model.intercept_, model.predict_proba(X)


def _labelled(device: gpuprims.Device) -> tuple[Any, ...]:
    mail = generated_mail(60)
    model = LogReg(device=device).fit(gpuprims.hash_counts(mail.texts, 64, device=device), mail.labels)
    return SpamFilter(model, 64, 0.5, device=device).label(mail.texts)


def _trained(device: gpuprims.Device) -> tuple[Any, ...]:
    made = train_filter(generated_mail(200), n_features=64, device=device)
    return made.C, made.filter.threshold, made.filter.label(["free prize", "lunch at noon"])[1]
