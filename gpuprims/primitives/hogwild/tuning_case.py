"""The call of hogwild that ``gpuprims.testing`` checks."""

from gpuprims.primitives.hogwild import logistic_hogwild
from gpuprims.primitives.sgd.tuning_case import case_of

CASE = case_of("hogwild", logistic_hogwild)
