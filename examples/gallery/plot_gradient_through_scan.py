"""
A gradient through a scan
=========================

A leaky sum ``h[t] = a[t] * h[t-1] + (1 - a[t]) * x[t]`` smooths a series, and forgets where ``a`` is small. It is a
scan with the operator that composes affine maps. The gradient of a loss with respect to every ``a[t]`` runs the other
way in time, ``g[t] = dl[t] + a[t+1] * g[t+1]``: the same scan, with ``reverse=True``. So a fit of one ``a`` for each
hour of the day takes two scans a step, of any length; ``gpuprims.torch.linear_recurrence`` does the same for tensors.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims

affine = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1, 0))

# A signal that jumps at six and at eighteen o'clock, in noise; the filter should forget there, and hold on elsewhere.
hours, days = 24, 400
time = np.arange(hours * days)
hour = time % hours
levels = gpuprims.random(1, 2 * days + 1, "normal")
signal = levels[(time + 6) // 12].astype(np.float32)
series = signal + np.float32(0.7) * gpuprims.random(2, signal.size, "normal")

logits, losses = np.zeros(hours, np.float32), []
for _ in range(120):
    kept = gpuprims.map("1 / (1 + exp(-z))", gpuprims.take(logits, hour))
    _, smooth = gpuprims.scan(kept, gpuprims.map("(1 - a) * x", a=kept, x=series), op=affine)
    error = gpuprims.map("s - y", s=smooth, y=signal)
    losses.append(gpuprims.reduce(error, map="e * e", op="mean"))

    later = np.append(kept[1:], np.float32(0))  # the factor that carries a gradient one step back
    _, gradient = gpuprims.scan(later, error, op=affine, reverse=True)
    before = np.append(np.float32(0), smooth[:-1])
    slope = gpuprims.map("g * (h - x) * a * (1 - a)", g=gradient, h=before, x=series, a=kept)
    logits -= gpuprims.reduce(slope, by=hour, op="mean") * 20

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained", width_ratios=(2, 1))
shown = slice(0, 4 * hours)
left.plot(series[shown], ".", color="silver", markersize=3, label="measured")
left.plot(signal[shown], color="black", linewidth=1, label="signal")
left.plot(smooth[shown], color="tab:orange", label="scan")
left.set_xlabel("hour")
left.legend()
right.bar(np.arange(hours), kept[:hours], color="tab:orange")
right.set_title(f"kept at each hour; error {losses[0]:.3f} to {losses[-1]:.3f}", fontsize=9)
right.set_xlabel("hour of the day")
plt.show()
