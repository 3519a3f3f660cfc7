"""
A radix sort, pass by pass
==========================

256 numbers of eight bits, sorted by two bits at a time, as a film. Each pass is a stable ``argsort`` by a digit of the
numbers, which ``map`` extracts, and a ``take``. Equal digits keep their earlier order, so four passes sort the numbers.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation

import gpuprims

values = np.random.default_rng(3).permutation(256).astype(np.int32)

passes, digits = [values], []
for shift in (0, 2, 4, 6):
    digits.append(gpuprims.map("(x >> s) & 3", passes[-1], s=shift))
    passes.append(gpuprims.take(passes[-1], gpuprims.argsort(digits[-1])))
digits.append(np.zeros(256, np.int32))
assert np.array_equal(passes[-1], gpuprims.sort(values))

# Where the numbers of each pass stand in the next one.
places = [np.argsort(numbers) for numbers in passes]

SMOOTH, COLOURS = 14, np.array(["tab:blue", "tab:orange", "tab:green", "tab:red"])
figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
dots = axes.scatter(range(256), values, s=9)
axes.set(xlabel="place", ylabel="number", xlim=(-4, 260), ylim=(-4, 260))


def draw(frame):
    """Draw the numbers on their way to their places of a pass, in the colours of the digit that decides."""
    number, part = divmod(frame, SMOOTH)
    last = number == len(passes) - 1
    moved = min(max(part - 3, 0) / (SMOOTH - 5), 1)
    here, there = places[number], places[min(number + 1, len(passes) - 1)]
    dots.set_offsets(np.transpose([(1 - moved) * here + moved * there, np.arange(256)]))
    dots.set_color("black" if last else COLOURS[digits[number][here]])
    axes.set_title("4 passes: sorted" if last else f"pass {number + 1}: bits {2 * number} and {2 * number + 1}")


film = FuncAnimation(figure, draw, frames=SMOOTH * len(passes), interval=90)
plt.show()
