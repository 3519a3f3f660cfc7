"""LogReg: logistic regression of samples in parts, with scikit-learn's interface."""

from __future__ import annotations

import copy
import importlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_random_state
from tqdm import tqdm

from gpuprims.core.determinism import refuse_levels
from gpuprims.core.device import Device
from gpuprims.core.interop import short
from gpuprims.distributed.objective import Form, SummedObjective, form_of_all
from gpuprims.distributed.passes import Each, Pass
from gpuprims.distributed.samples import LABEL, StreamedSamples, outputs_of, samples_of_shards
from gpuprims.distributed.sharded import ShardedArray
from gpuprims.distributed.streams import Stream
from gpuprims.errors import ArgumentError, ArrayError, ShardError, StreamError
from gpuprims.models.checks import CheckedParameters, named_parameters
from gpuprims.models.logreg import newton
from gpuprims.models.logreg.fitting import store
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.penalties import strengths_of
from gpuprims.models.logreg.prediction import LinearScores
from gpuprims.models.logreg.progress import WARNINGS, Monitor, Progress, Settings, Solver

_SOLVERS: dict[str, Solver] = {"lbfgs": newton.lbfgs, "newton-cholesky": newton.newton_cholesky}


@named_parameters
@dataclass(eq=False, repr=False)  # scikit-learn has its own
class LogReg(LinearScores, CheckedParameters, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Logistic regression of two or more classes, of samples on several devices, of Dask or of a stream.

    The optimum is that of :class:`gpuprims.models.LogReg`. In each pass the loss and the gradient of each shard, block
    or chunk are computed where it is, and the host adds these few numbers.

    Parameters
    ----------
    C : float, default 1.0
        Inverse of the penalty, as for :class:`gpuprims.models.LogReg`.
    penalty : {"l2"} or None, default "l2"
    solver : {"lbfgs", "newton-cholesky"}, default "lbfgs"
        "newton-cholesky" suits few features: the host adds matrices of their squared number.
    max_iter : int, default 100
    tol : float, default 1e-4
        Stop when no component of the gradient, per sample, is larger.
    fit_intercept : bool, default True
    warm_start : bool, default False
        Begin with ``coef_`` and ``intercept_`` of an earlier fit, if they have the right shape. An error of a source or
        a device leaves those of the last iteration.
    threshold : float, default 0.5
        Predict the second of two classes above this probability.
    device : str or Device, optional
        Where to predict from host arrays, and where workers of Dask compute blocks of NumPy arrays.
    callback : callable, optional
        Called after each iteration with an object that has ``iteration``, ``loss``, ``coef`` and ``intercept``. Return
        True to stop.
    verbose : bool, default False
        Show a progress bar with the loss.

    Attributes
    ----------
    classes_, coef_, intercept_, loss_curve_, loss_iterations_, n_iter_, stop_reason_, n_features_in_
        As of :class:`gpuprims.models.LogReg`.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> group = gpuprims.DeviceGroup(["reference", "reference"])
    >>> X = group.scatter(np.array([[-2.0], [1.0], [-1.0], [2.0]]))
    >>> model = gpuprims.distributed.LogReg().fit(X, ["no", "yes", "no", "yes"])
    >>> model.predict(np.array([[-3.0], [3.0]])).tolist()
    ['no', 'yes']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="right")],
        "penalty": [StrOptions({"l2"}), None],
        "solver": [StrOptions(set(_SOLVERS))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "warm_start": ["boolean"],
        "threshold": [Interval(Real, 0, 1, closed="neither")],
        "device": [str, Device, None],
        "callback": [callable, None],
        "verbose": ["verbose"],
    }

    _: KW_ONLY
    C: float = 1.0
    penalty: str | None = "l2"
    solver: str = "lbfgs"
    max_iter: int = 100
    tol: float = 1e-4
    fit_intercept: bool = True
    warm_start: bool = False
    threshold: float = 0.5
    device: str | Device | None = None
    callback: Callable[[Progress], Any] | None = None
    verbose: bool = False

    @property
    def backend(self) -> None:  # type: ignore[override]  # another name of device= in gpuprims.models
        """None: ``device`` says where to predict."""
        return

    def fit(self, X: ShardedArray | Stream, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : ShardedArray, array or DataFrame of Dask of shape (n_samples, n_features), or Stream
            With samples in each shard. Workers of Dask compute their blocks once, and keep them for the fit. A stream
            has the labels too, ``stream(X, y)`` or ``stream(X, y, weights)``; a fit reads it once more than the solver
            has passes.
        y : ShardedArray, collection of Dask or array_like of shape (n_samples,)
            Labels of at least two classes; not every shard needs to have each class.
        sample_weight : ShardedArray, collection of Dask or array_like of shape (n_samples,), optional
            By default, 1 for each sample.

        Returns
        -------
        self

        Raises
        ------
        ArgumentError, ShapeError, ArrayError
            NaN or infinity in ``X``, a single class, negative weights, labels or weights that are cut in another way.
        ShardError
            A device or a worker failed, such as for lack of memory. A worker of Dask that is lost is replaced.
        StreamError
            A chunk cannot be read.
        """
        self._validate_params()
        refuse_levels(f"{LABEL}.fit", "fits of samples in parts")
        self._fit(X, y, sample_weight)
        if self.stop_reason_ in WARNINGS:
            message = WARNINGS[self.stop_reason_].format(**self.get_params())
            warnings.warn(f"{LABEL}: {message}", ConvergenceWarning, stacklevel=2)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        if isinstance(X, Stream):
            if y is not None or sample_weight is not None:
                raise ArgumentError(f"{LABEL}: labels and weights in the stream, stream(X, y); got them beside it")
            streamed = StreamedSamples(X, fit_intercept=bool(self.fit_intercept))
            self.classes_, self.n_features_in_ = streamed.classes, streamed.features
            self._minimise(streamed.each, streamed.form, streamed.total)
            return
        if is_dask(X):
            _dask().fit(self, X, y, sample_weight, self._minimise)
            return
        if not isinstance(X, ShardedArray):
            hint = "gpuprims.models.LogReg fits ordinary arrays; group.scatter(X) cuts one"
            raise ArrayError(f"{LABEL}: X a sharded array, a stream or a collection of Dask; got {short(X)} ({hint})")
        group = X.group
        self.classes_, samples = samples_of_shards(X, y, sample_weight)
        self.n_features_in_ = X.shape[1]
        outputs, fit_intercept = outputs_of(self.classes_), bool(self.fit_intercept)
        parts = [Objective(one, outputs, 0.0, fit_intercept=fit_intercept) for one in samples]

        def own(work: Pass) -> Sequence[Any]:
            if work.waits:
                return group.each(f"{LABEL}.fit", lambda k: work.run(parts[k]))
            return group.launch(
                f"{LABEL}.fit",
                lambda k: work.start(parts[k]),
                lambda k, begun: work.finish(parts[k], begun),
                lambda k, begun: work.read(parts[k], begun),
            )

        def each(work: Pass) -> Sequence[Any]:
            if group.processes is None:
                return own(work)
            return group.share(f"{LABEL}.fit", lambda: work.join(own(work)))

        fp64 = all(device.capabilities.fp64 for device in group.devices)
        form = Form(parts[0].dtype, self.n_features_in_, outputs, fit_intercept, fp64)
        facts = group.share(f"{LABEL}.fit", lambda: (form, sum(part.total for part in parts)))
        self._minimise(each, form_of_all([one for one, _ in facts]), sum(total for _, total in facts))

    def _minimise(self, each: Each, form: Form, total: float) -> None:
        """Run the solver, and set the fitted attributes."""
        strengths = strengths_of(self.penalty, 0.0, self.C, total)
        objective = SummedObjective(each, form, total, strengths.l2)
        start = np.zeros(objective.size)
        if self.warm_start and hasattr(self, "coef_") and self.coef_.shape == (form.outputs, form.features):
            start = objective.join(self.coef_, self.intercept_)
        settings = Settings(int(self.max_iter), float(self.tol), None, 1, check_random_state(0))
        with tqdm(total=self.max_iter, desc=LABEL, unit="it", disable=not self.verbose) as bar:
            monitor = Monitor(objective, start, bar, self.callback, None, 0.0)
            try:
                reason = _SOLVERS[self.solver](objective, start, settings, monitor)
            except (KeyboardInterrupt, ShardError, StreamError):
                if monitor.records:
                    store(self, objective, monitor.weights, monitor.records, monitor.errors, "interrupted")
                raise
        store(self, objective, monitor.weights, monitor.records, monitor.errors, reason)

    def decision_function(self, X: Any) -> Any:
        """Return the scores, as :meth:`gpuprims.models.LogReg.decision_function`; sharded or lazy if ``X`` is."""
        found = self._by_parts("decision_function", X)
        return super().decision_function(X) if found is None else found

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class; sharded or lazy if ``X`` is."""
        found = self._by_parts("predict_proba", X)
        return super().predict_proba(X) if found is None else found

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of the probability of each class; sharded or lazy if ``X`` is."""
        found = self._by_parts("predict_log_proba", X)
        return super().predict_log_proba(X) if found is None else found

    def predict(self, X: Any) -> Any:
        """Return the class of each sample; sharded or lazy if ``X`` is."""
        found = self._by_parts("predict", X)
        return super().predict(X) if found is None else found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; labels and weights are on the host, or cut as ``X`` is."""
        if is_dask(X):
            return float(_dask().score(self, X, y, sample_weight))
        if not isinstance(X, ShardedArray):
            return super().score(X, y, sample_weight)

        def hits() -> tuple[float, float]:
            labels = y.gather() if isinstance(y, ShardedArray) else np.asarray(y)
            weights = sample_weight.gather() if isinstance(sample_weight, ShardedArray) else sample_weight
            right, total = np.average(self.predict(X).gather() == labels, weights=weights, returned=True)
            return float(right * total), float(total)

        right, total = np.sum(X.group.share(f"{LABEL}.score", hits), axis=0)
        return float(right / total)

    def _by_parts(self, method: str, X: Any) -> Any:
        """Return a method's results on each shard or block; None for an ordinary array."""
        if is_dask(X):
            return _dask().predicted(self, method, X)
        if not isinstance(X, ShardedArray):
            return None

        def run(k: int) -> Any:
            one = copy.copy(self)
            one.device = X.group.devices[k]
            return getattr(super(LogReg, one), method)(X.shards[k])

        return ShardedArray(X.group, X.group.each(f"{LABEL}.{method}", run))


def is_dask(X: Any) -> bool:
    """Return True for an array or DataFrame of Dask."""
    return hasattr(type(X), "__dask_graph__")


def _dask() -> Any:
    """Import the functions that need Dask, which is installed if a caller has an array of it."""
    return importlib.import_module("gpuprims.distributed.dask_logreg")
