"""
Words of spam, by weight
========================

What a spam filter has learnt: words to the right speak for spam, words to the left against it. ``hash_counts`` counts
the words of each message in columns of a table, ``LogReg`` finds a weight for each column.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims
from gpuprims.models import LogReg

SPAM, HAM, BOTH = (
    words.split()
    for words in (
        "free prize win claim urgent cash offer reply mobile winner guaranteed credit",
        "lunch later home sorry love meeting tomorrow thanks dinner train sleep class",
        "you the now call text please today new week good send see time message one day",
    )
)

rng = np.random.default_rng(1)
spam = rng.random(4000) < 0.3
liking = {True: rng.dirichlet(np.ones(12) * 1.5), False: rng.dirichlet(np.ones(12) * 1.5)}


def message(is_spam):
    """Return a message of common words, and of some that its kind likes."""
    own, other = (SPAM, HAM) if is_spam else (HAM, SPAM)
    words = [*rng.choice(BOTH, 6), *rng.choice(own, 2, p=liking[bool(is_spam)]), *rng.choice(own + other + BOTH, 2)]
    return " ".join(words)


texts = [message(one) for one in spam]
model = LogReg(C=1.0).fit(gpuprims.hash_counts(texts, 1024), spam)
words = SPAM + HAM + BOTH
weights = gpuprims.hash_counts(words, 1024) @ model.coef_[0]

order = np.argsort(weights)
figure, axes = plt.subplots(figsize=(7, 6.4), layout="constrained")
colours = np.where(weights[order] > 0, "tab:red", "tab:green")
axes.barh(np.array(words)[order], weights[order], color=colours)
axes.axvline(0, color="black", linewidth=0.8)
axes.tick_params(axis="y", labelsize=7)
axes.margins(y=0.01)
axes.set_xlabel("weight")
plt.show()
print(f"{gpuprims.reduce(model.predict(gpuprims.hash_counts(texts, 1024)) == spam, op='mean'):.1%} are labelled right")
