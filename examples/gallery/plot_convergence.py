"""
A regression converges
======================

Gradient ascent finds the boundary between points of two normal distributions: the first article's pictures. Shades are
the probability of a point being blue; the log-likelihood, on the right, rises toward 0 with each iteration. ``LogReg``
passes the weights and the loss of each iteration to ``callback=``.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from sklearn.exceptions import ConvergenceWarning

from gpuprims.datasets import two_normals
from gpuprims.models import LogReg

X, y = two_normals(800, means=[[-1.1, 0.6], [1.2, -0.5]], covariances=0.8 * np.eye(2), seed=2)
weights, losses = [], []
model = LogReg(
    C=np.inf,
    fit_intercept=False,
    solver="gd",
    learning_rate=3e-4,
    max_iter=1,
    tol=0,
    warm_start=True,
    callback=lambda progress: losses.append(progress.loss),
)
with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # one iteration at a time, on purpose
    for _ in range(40):
        model.fit(X, y)
        weights.append(model.coef_[0].copy())

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
across, up = np.meshgrid(np.linspace(-4, 4, 81), np.linspace(-3, 3.4, 65))
shades = left.imshow(0 * up, "coolwarm_r", alpha=0.4, vmin=0, vmax=1, origin="lower", extent=(-4, 4, -3, 3.4))
left.scatter(*X.T, c=y, s=6, cmap="coolwarm_r")
(line,) = left.plot([], [], color="black", linewidth=2)
left.set(xlim=(-4, 4), ylim=(-3, 3.4), xticks=[], yticks=[], aspect="auto", title="points and boundary")
likelihood = -len(X) * np.array(losses)
(curve,) = right.plot([], [], color="tab:blue")
right.set(xlim=(0, 40), ylim=(likelihood.min() - 10, 0), xlabel="iteration", title="log-likelihood")


def draw(frame):
    """Draw the probabilities, the boundary and the likelihood after some iterations."""
    first, second = weights[frame]
    shades.set_data(1 / (1 + np.exp(-first * across - second * up)))
    line.set_data([-4, 4], [4 * first / second, -4 * first / second])
    curve.set_data(range(frame + 1), likelihood[: frame + 1])


film = FuncAnimation(figure, draw, frames=len(weights), interval=120)
plt.show()
