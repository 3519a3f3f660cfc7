"""Random numbers in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.primitives.reference import Places


def philox(counter: Sequence[Any], key: Sequence[Any]) -> np.ndarray:
    """Return the four words of each block by Philox 4x32-10, last axis last, of four words of counter and two of key.

    Examples
    --------
    >>> " ".join(f"{word:08x}" for word in philox((0, 0, 0, 0), (0, 0)))
    '6627e8d5 e169c58d bc57ac4c 9b00dbd8'
    """
    a, b, c, d = list[Any](np.asarray(word, np.uint64) for word in counter)
    first, second = (int(word) for word in key)
    low = np.uint64(2**32 - 1)
    for _ in range(10):
        left, right = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, c = (right >> 32) ^ b ^ np.uint64(first), (left >> 32) ^ d ^ np.uint64(second)
        b, d = right & low, left & low
        first, second = (first + 0x9E3779B9) % 2**32, (second + 0xBB67AE85) % 2**32
    return np.stack(np.broadcast_arrays(a, b, c, d), -1).astype(np.uint32)


def philox_numpy(spec: Any, memories: Sequence[np.ndarray], layout: np.ndarray, n: int) -> None:
    """Write ``n`` numbers of a stream."""
    places = Places(spec, memories, layout)
    key, stream = (int(word) for word in memories[0].reshape(-1).view(np.uint64)[:2])
    blocks = np.arange(-(-n * spec.word.itemsize // 16), dtype=np.uint64)
    low = np.uint64(2**32 - 1)
    counter = blocks & low, blocks >> 32, stream % 2**32, stream >> 32
    words = philox(counter, (key % 2**32, key >> 32)).astype("<u4").reshape(-1).view(f"<u{spec.word.itemsize}")
    numbers = np.stack(spec.map(*words.reshape(-1, spec.map.arity).T), -1).reshape(-1)
    places.store((numbers[:n],), 0, kept=False)
