"""
A regression converges
======================

Gradient descent finds the line between two clouds of points: the first article's film. The log-likelihood, on the
right, rises with each iteration. ``callback=`` of ``LogReg`` sees the weights and the loss of each.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from sklearn.exceptions import ConvergenceWarning

from gpuprims.models import LogReg

rng = np.random.default_rng(2)
X = np.concatenate([rng.normal((-1.1, 0.6), 0.9, (400, 2)), rng.normal((1.2, -0.5), 0.9, (400, 2))]).astype(np.float32)
y = np.repeat([0, 1], 400)

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
left.scatter(*X.T, c=y, s=6, cmap="coolwarm")
(line,) = left.plot([], [], color="black", linewidth=2)
left.set(xlim=(-4, 4), ylim=(-3, 3.4), xticks=[], yticks=[])
likelihood = -len(X) * np.array(losses)
(curve,) = right.plot([], [], color="tab:blue")
right.set(xlim=(0, 40), ylim=(likelihood.min() - 10, likelihood.max() + 20), xlabel="iteration", title="log-likelihood")


def draw(frame):
    """Draw the line and the likelihood after some iterations."""
    across = np.array([-4, 4])
    line.set_data(across, -across * weights[frame][0] / weights[frame][1])
    curve.set_data(range(frame + 1), likelihood[: frame + 1])


film = FuncAnimation(figure, draw, frames=len(weights), interval=120)
plt.show()
