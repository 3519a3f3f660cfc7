"""
Digits from a few examples
==========================

Digits 5 to 9, told apart after 1 to 10 examples of each. Their embeddings are hidden values that ``PCA`` found in
digits 0 to 4 alone. ``Prototypes`` compares with the mean of each class, ``MatchingNet`` lets the examples vote, and
``LogReg`` is the last layer, trained on them. Bars are 95 % confidence intervals of the mean over 12 draws of examples.
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
MODELS = {
    "prototypes, cosine": Prototypes("cosine"),
    "prototypes, L2": Prototypes("l2"),
    "prototypes, dot": Prototypes("dot"),
    "matching, cosine": MatchingNet("cosine", scale=30),
    "logistic regression": LogReg(C=0.01, tol=1e-2),
}


def episode(rng, shots):
    """Return the rows of some examples of each digit, and of 20 others."""
    drawn = [rng.permutation(one)[: shots + 20] for one in places]
    return (np.concatenate([one[part] for one in drawn]) for part in (slice(shots), slice(shots, None)))


figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
for shift, (name, model) in zip((-0.08, -0.04, 0, 0.04, 0.08), MODELS.items(), strict=True):
    means, errors = [], []
    for shots in SHOTS:
        rng, accuracies = np.random.default_rng(shots), []
        for _ in range(EPISODES):
            support, query = episode(rng, shots)
            model.fit(embeddings[support], y[support])
            accuracies.append(model.score(embeddings[query], y[query]))
        means.append(np.mean(accuracies))
        errors.append(1.96 * np.std(accuracies) / np.sqrt(EPISODES))
    axes.errorbar(np.array(SHOTS) * (1 + shift), means, errors, label=name, marker="o", markersize=4, capsize=3)
    print(f"{name:20}", *(f"{mean:6.1%} +- {error:.1%}" for mean, error in zip(means, errors, strict=True)))
axes.set_xscale("log")
axes.set_xticks(SHOTS, SHOTS)
axes.set_xlabel("examples of each of 5 digits")
axes.set_ylabel("accuracy")
axes.legend(fontsize=8)
plt.show()
