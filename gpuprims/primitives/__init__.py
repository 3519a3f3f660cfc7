"""The primitives: one package each, and what several of them share."""

# Each package has a ``PRIMITIVE``; see :class:`gpuprims.core.primitive.Primitive`.
ROOMS = (
    *("map", "reduce", "scan", "segments", "segscan", "compact", "histogram", "stencil", "sort"),
    *("logistic", "descent", "sgd", "hogwild", "newton", "csr", "take", "searchsorted", "merge"),
    *("selection", "top_k", "philox", "rle"),
)
