"""The calls of top_k that ``gpuprims.testing`` checks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpuprims.core.tuning_case import TuningCase, rows, small_integers
from gpuprims.primitives.top_k import top_k


def _case(largest: bool, part: int) -> TuningCase:
    def run(x: np.ndarray, k: int, **keywords: object) -> object:
        return top_k(x, k, axis=-1, largest=largest, **keywords)  # type: ignore[call-overload]  # tests pass a Variant

    def count(x: np.ndarray) -> int:
        return -(-int(x.shape[-1]) // part)

    def expected(x: np.ndarray) -> np.ndarray:
        ordered = np.sort(x, axis=-1)
        return (ordered[..., ::-1] if largest else ordered)[..., : count(x)]

    return TuningCase("top_k", small_integers, run, lambda x: (x, count(x)), expected, into=False)


CASE = replace(
    _case(largest=True, part=64),
    further={
        "the smallest half": _case(largest=False, part=2),
        "rows": replace(_case(largest=True, part=7), elements=rows(small_integers)),
    },
)
