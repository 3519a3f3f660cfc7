"""A call that names its level by ``determinism=`` takes its other keywords as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.core.keywords import keywords_of
from gpuprims.errors import GpuprimsError

LINE, WORDS = np.float32([1e8, 3, 1, -1e8, 5, 2]), np.array([3, 1, 0, 1, 2, 1])
TABLE, IMAGE = np.float32([[3, 1, 4], [1, 5, 9]]), np.float32([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]])
OFFSETS, KEYS, MASK = [0, 1, 6], [7, 2, 7, 7, 2, 2], LINE > 1

Call = tuple[Callable[..., Any], str, tuple[Any, ...], dict[str, Any], Any]
# A function, a keyword, the arrays of a call, its other keywords, and a value of the keyword that changes the result.
CALLS: list[Call] = [
    (gpuprims.map, "out", ("2*x", LINE), {}, np.empty(6, np.float32)),
    (gpuprims.map, "vector_axis", (lambda p: p[0] + p[2], TABLE), {}, -1),
    (gpuprims.map, "index", ("x + i", LINE), {}, "i"),
    (gpuprims.reduce, "op", (LINE,), {}, "max"),
    (gpuprims.reduce, "map", (TABLE,), {}, "x + 1"),
    (gpuprims.reduce, "axis", (TABLE,), {}, 1),
    (gpuprims.reduce, "keepdims", (TABLE,), {}, True),
    (gpuprims.reduce, "dtype", (TABLE,), {}, "float64"),
    (gpuprims.reduce, "out", (LINE,), {}, np.empty((), np.float32)),
    (gpuprims.reduce, "ddof", (TABLE,), {"op": "var"}, 1),
    (gpuprims.reduce, "compensated", (LINE,), {}, True),
    (gpuprims.reduce, "where", (LINE,), {}, MASK),
    (gpuprims.reduce, "initial", (TABLE,), {}, 10),
    (gpuprims.reduce, "segments", (LINE,), {}, OFFSETS),
    (gpuprims.reduce, "by", (LINE,), {}, KEYS),
    (gpuprims.scan, "op", (LINE,), {}, "max"),
    (gpuprims.scan, "map", (LINE,), {}, "2*x"),
    (gpuprims.scan, "inclusive", (LINE,), {}, False),
    (gpuprims.scan, "axis", (TABLE,), {}, 1),
    (gpuprims.scan, "dtype", (LINE,), {}, "float64"),
    (gpuprims.scan, "out", (LINE,), {}, np.empty(6, np.float32)),
    (gpuprims.scan, "where", (LINE,), {}, MASK),
    (gpuprims.scan, "initial", (TABLE,), {}, 10),
    (gpuprims.scan, "reverse", (LINE,), {}, True),
    (gpuprims.scan, "segments", (LINE,), {}, OFFSETS),
    (gpuprims.scan, "by", (LINE,), {}, KEYS),
    (gpuprims.histogram, "bins", (TABLE,), {}, 4),
    (gpuprims.histogram, "range", (TABLE,), {}, (0, 3)),
    (gpuprims.histogram, "density", (TABLE,), {}, True),
    (gpuprims.histogram, "weights", (WORDS,), {}, WORDS + 1),
    (gpuprims.histogram, "axis", (TABLE,), {}, 1),
    (gpuprims.histogram, "segments", (LINE,), {}, OFFSETS),
    (gpuprims.histogram, "out", (TABLE,), {}, np.empty(10, np.int64)),
    (gpuprims.bincount, "weights", (WORDS,), {}, LINE),
    (gpuprims.bincount, "minlength", (WORDS,), {}, 9),
    (gpuprims.bincount, "axis", (WORDS.reshape(2, 3),), {}, 1),
    (gpuprims.bincount, "out", (WORDS,), {}, np.empty(4, np.int64)),
    (gpuprims.stencil, "mode", (LINE, [1, 2, 0]), {}, "wrap"),
    (gpuprims.stencil, "cval", (TABLE, [1, 2, 0]), {"mode": "constant"}, 7),
    (gpuprims.stencil, "channel_axis", (IMAGE, [1, 2, 0]), {}, -1),
    (gpuprims.stencil, "iterations", (LINE, [1, 2, 0]), {}, 2),
    (gpuprims.stencil, "dtype", (TABLE, [1, 2, 0]), {}, "float64"),
    (gpuprims.stencil, "out", (LINE, [1, 2, 0]), {}, np.empty(6, np.float32)),
    (gpuprims.blur, "kind", (IMAGE,), {}, "box"),
    (gpuprims.blur, "size", (IMAGE,), {"kind": "box"}, 5),
    (gpuprims.blur, "sigma", (IMAGE,), {"kind": "gaussian"}, 2),
    (gpuprims.blur, "mode", (IMAGE,), {}, "wrap"),
    (gpuprims.blur, "cval", (IMAGE,), {"mode": "constant"}, 7),
    (gpuprims.blur, "channel_axis", (IMAGE[..., np.newaxis],), {}, -1),
    (gpuprims.blur, "iterations", (IMAGE,), {}, 2),
    (gpuprims.blur, "out", (IMAGE,), {}, np.empty_like(IMAGE)),
]
# Arrays, the keywords that say where and how a call runs, and one that changes no bits on the reference.
OTHERS = {"fn", "x", "image", "device", "variant", "determinism", "deterministic"}


def described(call: Callable[..., Any], arrays: tuple[Any, ...], how: dict[str, Any]) -> Any:
    """Return dtype, shape and bytes of each result, and if it lies in ``out=``; or the error's class."""
    try:
        results = call(*arrays, device="reference", **how)
    except GpuprimsError as error:
        return type(error)
    several, out = results if isinstance(results, tuple) else (results,), how.get("out", ())
    return [(one.dtype, one.shape, one.tobytes(), np.shares_memory(one, out)) for one in map(np.asanyarray, several)]


@pytest.mark.parametrize(
    ("function", "name", "arrays", "others", "value"), CALLS, ids=[f"{call[0].__name__}-{call[1]}" for call in CALLS]
)
@pytest.mark.filterwarnings("ignore:Degrees of freedom")
def test_a_keyword_beside_a_level(
    function: Callable[..., Any], name: str, arrays: tuple[Any, ...], others: dict[str, Any], value: Any
) -> None:
    plain = described(function, arrays, {**others, name: value})
    assert not isinstance(plain, type)
    assert plain != described(function, arrays, others)
    assert described(function, arrays, {**others, name: value, "determinism": "run"}) == plain


def test_every_keyword_is_tried() -> None:
    for function in {call[0] for call in CALLS}:
        tried = {call[1] for call in CALLS if call[0] is function}
        others = OTHERS | {"weights"} if function is gpuprims.stencil else OTHERS  # an argument of each call
        assert set(keywords_of(function)) - others == tried, function.__name__
