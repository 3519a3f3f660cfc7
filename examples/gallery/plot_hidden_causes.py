"""
Hidden causes of flowers and digits
===================================

Four lengths of 150 flowers, and 64 pixels of 1,797 digits, come from a few hidden values. ``FactorAnalysis`` and
``PCA`` find them; colours are the species and the digits, which the models never saw. Below: ten sparse components of
the digits, and ten digits that ``PCA`` draws.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_iris

from gpuprims.models import PCA, FactorAnalysis, SparsePCA

flowers, species = load_iris(return_X_y=True)
digits, numbers = load_digits(return_X_y=True)
one = FactorAnalysis(n_components=1).fit(flowers)
print("noise that one factor leaves:", one.noise_variance_.round(4))
pairs = FactorAnalysis(n_components=2).fit(flowers).components_, PCA(n_components=2).fit(flowers).components_
print("inner products: factors {:.3f}, principal {:.3f}".format(*(abs(two[0] @ two[1]) for two in pairs)))

figure = plt.figure(figsize=(10, 8.6), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=(3, 1.5))
jitter = np.random.default_rng(0).normal(size=(150, 1))
panels = (
    ("flowers, 2 factors", FactorAnalysis(n_components=2).fit_transform(flowers), species),
    ("flowers, 1 factor (heights are random)", np.hstack([one.transform(flowers), jitter]), species),
    ("flowers, 2 principal components", PCA(n_components=2).fit_transform(flowers), species),
    ("digits, 2 factors", FactorAnalysis(n_components=2).fit_transform(digits), numbers),
    ("digits, 2 principal components", PCA(n_components=2).fit_transform(digits), numbers),
)
grid = top.subplots(2, 3)
for axes, (title, hidden, colours) in zip(grid.flat, panels, strict=False):
    axes.scatter(*hidden.T, c=colours, s=6, cmap="tab10")
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=7)
variances = PCA().fit(digits).explained_variance_ratio_
grid[1, 2].plot(np.cumsum(variances), color="black")
grid[1, 2].set_title("digits: variance explained, by components", fontsize=9)
grid[1, 2].tick_params(labelsize=7)

sparse = SparsePCA(n_components=10, alpha=5, max_iter=30, tol=1e-4).fit(digits).components_
drawn = PCA(n_components=20).fit(digits).sample(10, random_state=2, noise=False)
rows = (("ten sparse components: grey is zero", sparse), ("ten digits that the model draws", drawn))
for (title, images), part in zip(rows, bottom.subfigures(2, 1), strict=True):
    part.suptitle(title, fontsize=9)
    for axes, image in zip(part.subplots(1, 10), images, strict=True):
        most = abs(image).max()
        axes.imshow(image.reshape(8, 8), cmap="gray", vmin=-most if images is sparse else 0, vmax=most)
        axes.set_axis_off()
plt.show()
