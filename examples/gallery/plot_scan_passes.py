"""
A scan, pass by pass
====================

Hillis and Steele's scan of 32 numbers, as a film. Each pass adds the element one, two, four, eight and sixteen places
to the left, so that five passes make all running sums. Each pass is a ``map``. The dots are the sums of ``scan``.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation

import gpuprims

values = np.random.default_rng(6).integers(1, 9, 32)
sums = gpuprims.scan(values)

passes, reach = [values], 1
while reach < values.size:
    apart = reach
    passes.append(gpuprims.map("a + b", passes[-1], np.append(np.zeros(apart, int), passes[-1][:-apart])))
    reach *= 2
assert np.array_equal(passes[-1], sums)

figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.plot(sums, "o", color="black", markersize=4, label="scan")
bars = axes.bar(range(32), values, color="tab:blue")
axes.set(xlabel="place", ylim=(0, sums[-1] * 1.05))
axes.legend(loc="upper left")

SMOOTH = 7


def draw(frame):
    """Draw the bars on their way from one pass to the next."""
    number, part = divmod(frame, SMOOTH)
    after = passes[min(number + 1, len(passes) - 1)]
    moved = min(part / (SMOOTH - 3), 1)
    for place, bar in enumerate(bars):
        bar.set_height((1 - moved) * passes[number][place] + moved * after[place])
        bar.set_color("tab:green" if bar.get_height() == sums[place] else "tab:blue")
    axes.set_title(f"{number} passes" if number == len(passes) - 1 else f"pass {number + 1}: {2**number} to the left")


film = FuncAnimation(figure, draw, frames=SMOOTH * len(passes), interval=90)
plt.show()
