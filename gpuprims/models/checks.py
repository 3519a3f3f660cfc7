"""scikit-learn's checks of arguments, whose errors become gpuprims' own.

The errors stay a ValueError or TypeError; scikit-learn's own is their cause.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, refuse_keywords
from gpuprims.errors import ArgumentError, DtypeError, GpuprimsError, did_you_mean
from gpuprims.models.messages import as_rule

T = TypeVar("T")
# Values that scikit-learn's LogisticRegression takes.
_INSTEAD = {
    "liblinear": "lbfgs", "newton-cg": "newton-cholesky", "newton": "newton-cholesky", "sag": "sgd", "saga": "fista",
    "adam": "minibatch", "gradient": "gd", "half": "float16", "fp16": "float16", "none": "None", "optimal": "auto",
    "adaptive": "auto", "constant": "auto",
}  # fmt: skip

# Attributes that checks set before a fit.
_SET_BY_CHECKS = ("n_features_in_", "feature_names_in_", "classes_")
# Parameters that were found valid, since scikit-learn's checks take longer than a launch. Values of these types are
# hashable, and keep nothing alive: a Device lives as long as its driver.
_VALID: set[tuple[Any, ...]] = set()
_PLAIN, _MOST_VALID = (str, int, float, type(None), Device), 1024


class NotFittedModelError(ArgumentError, NotFittedError):  # type: ignore[misc]  # scikit-learn has no types
    """A model that has not been fitted is asked to predict; scikit-learn's NotFittedError too."""


class OwnErrors:
    """A context in which scikit-learn's ValueError and TypeError become gpuprims' ArgumentError and DtypeError.

    ``rule`` describes the argument that is checked, for messages that would also fit another one.
    """

    def __init__(self, label: str, rule: str | None = None) -> None:
        self._label, self._rule = label, rule

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, ValueError | TypeError) or isinstance(error, GpuprimsError):
            return
        own = ArgumentError if isinstance(error, ValueError) else DtypeError
        raise own(f"{self._label}: {as_rule(str(error), self._rule)}") from error


def check_fitted(model: Any) -> None:
    """Raise NotFittedModelError for a model that has not been fitted."""
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        label = type(model).__name__
        raise NotFittedModelError(f"{label}: a fitted model; got one that is not fitted (call fit first)") from error


@contextmanager
def unchanged_if_refused(model: Any) -> Iterator[None]:
    """Give a model its earlier features and classes back if the samples or parameters of a fit are refused."""
    before = {name: vars(model)[name] for name in _SET_BY_CHECKS if name in vars(model)}
    try:
        yield
    except BaseException:
        for name in _SET_BY_CHECKS:
            vars(model).pop(name, None)
        vars(model).update(before)
        raise


def named_parameters(estimator: type[T]) -> type[T]:
    """Decorate an estimator's class to raise UnknownKeywordError for parameters that it does not have."""
    create: Callable[..., None] = estimator.__init__
    known = keywords_of(estimator)

    @wraps(create)
    def refusing(self: Any, *args: Any, **params: Any) -> None:
        if unknown := {name: value for name, value in params.items() if name not in known}:
            refuse_keywords(estimator.__name__, known, unknown)
        create(self, *args, **params)

    estimator.__init__ = refusing  # type: ignore[method-assign]
    return estimator


class CheckedParameters:
    """Mix-in of scikit-learn estimators, whose errors about parameters become gpuprims' own."""

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name, as in scikit-learn."""
        known = self.get_params(deep=False)  # type: ignore[attr-defined]  # of the estimator
        wrong = [name for name in params if name.partition("__")[0] not in known]
        if wrong:
            hint = did_you_mean(wrong[0], known, {"c": "C", "epochs": "max_iter", "lr": "learning_rate"})
            names = ", ".join(known)
            raise ArgumentError(f"{type(self).__name__}: parameters among {names}; got {', '.join(wrong)}{hint}")
        return super().set_params(**params)  # type: ignore[misc]  # of the estimator

    def __getstate__(self) -> Any:
        """Pickle devices by their specs, so that a model can be read on a machine without them."""
        state: Any = super().__getstate__()
        return {name: one.spec if isinstance(one, Device) else one for name, one in state.items()}

    def _validate_params(self) -> None:
        names: Iterable[str] = self._parameter_constraints  # type: ignore[attr-defined]  # of the estimator
        values = [getattr(self, name) for name in names]
        plain = all(isinstance(value, _PLAIN) for value in values)
        given = type(self), *values, *map(type, values)
        if plain and given in _VALID:
            return
        try:
            super()._validate_params()  # type: ignore[misc]  # of the estimator
            if plain and len(_VALID) < _MOST_VALID:
                _VALID.add(given)
        except ValueError as error:
            raise ArgumentError(f"{type(self).__name__}: {_parameter_rule(str(error), self)}") from error


def _parameter_rule(message: str, model: Any) -> str:
    found = re.fullmatch(r"The '(\w+)' parameter of \w+ must be (.*)\. Got (.*) instead\.", message, re.DOTALL)
    if found is None:
        return message
    name, rule, got = found.groups()
    names: Sequence[str] = []
    if among := re.search(r"a str among \{(.*?)\}", rule):
        names = sorted(one.strip(" '") for one in among[1].split(","))
        rule = rule.replace(among[0], f"one of {', '.join(map(repr, names))}")
    rule = rule.replace("an instance of 'str', an instance of 'gpuprims.core.device.Device'", "a spec, a Device")
    rule = rule.replace("an instance of 'bool' or an instance of 'numpy.bool'", "True or False")
    rule = re.sub(r"an instance of '(?:[\w]+\.)*(\w+)'", r"a \1", rule)
    return f"{name}= {rule}; got {got}{did_you_mean(getattr(model, name), names, _INSTEAD if names else None)}"
