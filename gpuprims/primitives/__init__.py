"""The primitives: a package each, with its public function, plans, variants and kernels, for all backends."""

# The packages, named as the primitives. The registry imports them when they are first asked for.
ROOMS = (
    *("map", "reduce", "scan", "segments", "compact", "histogram", "stencil"),
    *("logistic", "descent", "sgd", "hogwild", "csr"),
)
