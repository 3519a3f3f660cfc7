"""Count the words of a text: each word becomes a number, the hash of its letters, and equal numbers are counted.

GPUPRIMS_DEVICE=opencl:cpu python examples/word_counts.py    chooses a device.
gpuprims profile examples/word_counts.py    shows the device time of each launch.
"""

import zlib
from collections import Counter

import numpy as np

import gpuprims

text = """
    It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness,
    it was the epoch of belief, it was the epoch of incredulity, it was the season of Light, it was the season of
    Darkness, it was the spring of hope, it was the winter of despair
"""
words = [word.strip(",").lower() for word in text.split()] * 1000
hashes = np.array([zlib.crc32(word.encode()) for word in words], dtype=np.uint32)

distinct, first, counts = gpuprims.unique(hashes, return_index=True, return_counts=True)
counted = {words[index]: int(count) for index, count in zip(first, counts, strict=True)}

# The letters of all occurrences of a word: a fold of one array by the keys of another.
letters = gpuprims.reduce(np.array([len(word) for word in words]), by=hashes)

for k in np.argsort(-counts, kind="stable")[:5]:
    print(f"{words[first[k]]:8} {counts[k]:6} times, {letters[k]:6} letters")
assert len(distinct) == len(counted)
assert counted == Counter(words)
assert all(total == len(words[index]) * count for total, index, count in zip(letters, first, counts, strict=True))
