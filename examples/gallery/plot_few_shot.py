"""
Digits from a few examples
==========================

Digits 5 to 9, classified after 1 to 10 examples of each. ``PCA`` made the embeddings from digits 0 to 4 alone.
``Prototypes`` compares with the mean of each class, ``MatchingNet`` lets the examples vote, and ``LogReg`` is the last
layer. On the right, the first two with each similarity. Bars are 95 % confidence intervals of the mean over 12 draws.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gpuprims.models import PCA, LogReg, MatchingNet, Prototypes

X, y = load_digits(return_X_y=True)
X = X.astype(np.float32)
embeddings = PCA(n_components=24).fit(X[y < 5]).transform(X)
places = [np.flatnonzero(y == digit) for digit in range(5, 10)]
SHOTS, EPISODES = (1, 5, 10), 12
METRICS = {"cosine": 30, "l2": 0.01, "dot": 0.01}  # with a scale for votes: the larger, the more the nearest decide
PROTOTYPES = {metric: Prototypes(metric) for metric in METRICS}
MATCHING = {metric: MatchingNet(metric, scale=scale) for metric, scale in METRICS.items()}


def accuracy(model, shots):
    """Return the mean accuracy for 20 others of each digit, and the half width of its confidence interval."""
    rng, found = np.random.default_rng(shots), []
    for _ in range(EPISODES):
        drawn = np.stack([rng.permutation(one)[: shots + 20] for one in places])
        support, query = drawn[:, :shots].ravel(), drawn[:, shots:].ravel()
        model.fit(embeddings[support], y[support])
        found.append(model.score(embeddings[query], y[query]))
    return np.mean(found), 1.96 * np.std(found) / np.sqrt(EPISODES)


figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained", width_ratios=(1.3, 1))
models = {f"prototypes, {metric}": model for metric, model in PROTOTYPES.items()}
models |= {"matching, cosine": MATCHING["cosine"], "logistic regression": LogReg(C=0.01, tol=1e-2)}
for shift, (name, model) in zip((-0.08, -0.04, 0, 0.04, 0.08), models.items(), strict=True):
    means, errors = zip(*(accuracy(model, shots) for shots in SHOTS), strict=True)
    left.errorbar(np.array(SHOTS) * (1 + shift), means, errors, label=name, marker="o", markersize=4, capsize=3)
    print(f"{name:20}", *(f"{mean:6.1%} +- {error:.1%}" for mean, error in zip(means, errors, strict=True)))
left.set_xscale("log")
left.set_xticks(SHOTS, SHOTS)
left.set(xlabel="examples of each of 5 digits", ylabel="accuracy")
left.legend(fontsize=8)

for shift, name, by_metric in ((-0.08, "prototypes", PROTOTYPES), (0.08, "matching", MATCHING)):
    means, errors = zip(*(accuracy(model, 5) for model in by_metric.values()), strict=True)
    right.errorbar(np.arange(3) + shift, means, errors, label=name, fmt="o", markersize=5, capsize=3)
    print(f"{name}, 5 examples:", *(f"{metric} {mean:.1%}" for metric, mean in zip(by_metric, means, strict=True)))
right.set_xticks(range(3), METRICS)
right.set(xlim=(-0.5, 2.5), xlabel="similarity, with 5 examples of each digit")
right.legend(fontsize=8)
plt.show()
