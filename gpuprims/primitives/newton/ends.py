"""Why the fits of a batch end, by the numbers in ``kernels/newton.h``."""

# Fits with weights, then fits without.
FITTED = ("tolerance", "rounding", "separable", "max_iter", "stalled")
UNFITTED = ("one_class", "bad_feature", "bad_label", "bad_weight")
ENDS = (*FITTED, *UNFITTED)
