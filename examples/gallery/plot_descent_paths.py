"""
Two ways down a loss
====================

Gradient descent, on the left, steps along the gradient of all samples. Stochastic gradient descent, on the right, steps
along the gradient of one sample, so its steps are cheap, and its path wanders. Both start at zero. Shades are the loss
of 2,000 points of two normal distributions; the cross is its minimum, by L-BFGS.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims
from gpuprims.datasets import two_normals
from gpuprims.models import LogReg

X, y = two_normals(2000, means=[[-0.7, 0.3], [0.7, -0.3]], seed=4)
X = X.astype(np.float32)
how = {"C": np.inf, "fit_intercept": False}
best = LogReg(**how).fit(X, y).coef_[0]


def path(parts, learning_rate):
    """Return the weights after a step by each part of the samples, from zero on."""
    model, found = LogReg(solver="minibatch", batch_size=len(X), learning_rate=learning_rate, **how), [np.zeros(2)]
    for part in parts:
        model.partial_fit(X[part], y[part], classes=[0, 1])
        found.append(model.coef_[0].copy())
    return np.array(found)


order = np.random.default_rng(0).permutation(len(X))[:200]
paths = {
    "all samples a step, 40 steps": path([slice(None)] * 40, learning_rate=2 / len(X)),
    "one sample a step, 200 steps": path(order[:, None], learning_rate=0.15),
}
across, up = np.meshgrid(np.linspace(-0.4, 2.6, 61), np.linspace(-1.4, 0.6, 41))
margins = (2 * y - 1)[:, None, None] * (X[:, :1, None] * across + X[:, 1:, None] * up)
losses = gpuprims.reduce(margins, map=lambda m: np.log1p(np.exp(-m)), op="mean", axis=0)

figure, panels = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
for axes, (name, points) in zip(panels, paths.items(), strict=True):
    axes.contourf(across, up, losses, 20, cmap="Blues_r", alpha=0.8)
    axes.plot(*points.T, ".-", color="tab:orange", markersize=4, linewidth=1)
    axes.plot(*best, "x", color="black", markersize=9, markeredgewidth=2)
    axes.set(xlabel="first weight", xlim=(-0.4, 2.6), ylim=(-1.4, 0.6))
    axes.set_title(name, fontsize=10)
panels[0].set_ylabel("second weight")
plt.show()
