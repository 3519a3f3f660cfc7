"""LogRegCV: logistic regression whose penalty is chosen by cross-validation, with scikit-learn's interface."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, _safe_indexing, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _check_method_params

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError
from gpuprims.models.checks import CheckedParameters, OwnErrors, named_parameters, unchanged_if_refused
from gpuprims.models.device_arrays import device_operands, to_host
from gpuprims.models.logreg.folds import Fold, Scored, fit_folds, grid_of, scorer_of, scores_of_path
from gpuprims.models.logreg.paths import LogRegPath, fit_path
from gpuprims.models.logreg.penalties import L1_SOLVERS
from gpuprims.models.logreg.prediction import LinearScores
from gpuprims.models.logreg.progress import Settings
from gpuprims.models.logreg.samples import Samples, host_labels, samples_of

_LABEL = "LogRegCV"
_SOLVERS = {"auto", "lbfgs", "newton-cholesky", *L1_SOLVERS}


@named_parameters
@dataclass(eq=False, repr=False)  # scikit-learn has its own
class LogRegCV(LinearScores, CheckedParameters, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Logistic regression of two or more classes; cross-validation chooses ``C`` and ``l1_ratio``.

    Parameters
    ----------
    backend : str or Device, optional
        Where to compute, as for :class:`LogReg`.
    device : str or Device, optional
        The same under another name. Pass one of them.
    Cs : int or array_like, default 10
        Values of ``C``, or how many between 1e-4 and 1e4, evenly spaced by their logarithms.
    l1_ratios : array_like, default (0.0,)
        Shares of the L1 norm in the penalty. All pairs of ``Cs`` and ``l1_ratios`` are tried.
    fit_intercept : bool, default True
        Add a constant to the scores.
    cv : int, splitter or iterable, optional
        The folds, as scikit-learn's. Default: 5 stratified folds.
    scoring : str or callable, optional
        The score that the best pair maximises, as scikit-learn's ``scoring``. Default: accuracy.
    solver : {"auto", "lbfgs", "newton-cholesky", "newton-cd", "fista"}, default "auto"
        As for :class:`LogReg`. "auto" fits all folds and penalties in one launch if there are two classes, few dense
        samples, and no L1 penalty.
    tol : float, default 1e-4
        When a fit stops, as for :class:`LogReg`; in fits of one launch as for :class:`LogRegBatch`.
    max_iter : int, default 100
        Maximum number of iterations of a fit.
    class_weight : dict or "balanced", optional
        Weights of the classes. "balanced" counts the classes of all samples.
    refit : bool, default True
        Fit the best pair to all samples. If False, weights, ``C_`` and ``l1_ratio_`` are means over folds, each with
        its own best pair.
    random_state : int, RandomState instance or None, default None
        Not used; it exists for compatibility with scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    Cs_, l1_ratios_ : ndarray
    C_, l1_ratio_ : float
        The best pair.
    scores_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
    coefs_paths_ : ndarray of shape (n_folds, n_l1_ratios, n_cs, 1 or n_classes, n_features + 1)
        Coefficients of each fit, then its intercepts if there are any.
    n_iter_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
    dual_gap_ : float
        Of the last fit, with an L1 penalty; see :class:`LogReg`.
    n_features_in_ : int

    Notes
    -----
    The attributes are those of scikit-learn's LogisticRegressionCV with ``use_legacy_attributes=False``. The samples
    are copied to the device once. A fold is a set of sample weights, which are zero for the rows to test on, and each
    fit starts from the weights of the next stronger penalty.

    Examples
    --------
    >>> from gpuprims.models import LogRegCV
    >>> X = [[-3.0, 0.0], [-2.0, 1.0], [-1.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
    >>> model = LogRegCV("reference", Cs=[0.01, 1], cv=3, scoring="neg_log_loss").fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.C_, model.scores_.shape
    (1.0, (3, 1, 2))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "backend": [str, Device, None],
        "device": [str, Device, None],
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "l1_ratios": ["array-like"],
        "fit_intercept": ["boolean"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "solver": [StrOptions(_SOLVERS)],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "refit": ["boolean"],
        "random_state": ["random_state"],
    }
    # Parameters of LogReg that are fixed here.
    penalty = "elasticnet"
    threshold = 0.5
    feature_dtype = variant = None
    composed = tf32 = False

    backend: str | Device | None = None
    _: KW_ONLY
    device: str | Device | None = None
    Cs: Any = 10
    l1_ratios: Any = (0.0,)
    fit_intercept: bool = True
    cv: Any = None
    scoring: Any = None
    solver: str = "auto"
    tol: float = 1e-4
    max_iter: int = 100
    class_weight: Any = None
    refit: bool = True
    random_state: Any = None

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that samples may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose a pair of penalties by cross-validation, and fit it.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`LogReg.fit`.
        **params
            For the splitter and the scorer, if scikit-learn's metadata routing is enabled.

        Returns
        -------
        self

        Raises
        ------
        ArgumentError
            As for :meth:`LogReg.fit`; a fold that trains on one class; a scorer of your own for samples on a device.

        Examples
        --------
        >>> from gpuprims.models import LogRegCV
        >>> X, y = [[-2.0], [-1.0], [0.5], [-0.5], [1.0], [2.0]], ["no", "no", "no", "yes", "yes", "yes"]
        >>> LogRegCV("reference", Cs=3, cv=3, l1_ratios=(0, 1)).fit(X, y).coefs_paths_.shape
        (3, 2, 3, 1, 2)
        """
        self._validate_params()
        Cs, ratios = grid_of(self)
        routed = self._routed("fit", sample_weight, params)
        settings = Settings(int(self.max_iter), float(self.tol), None, 1, check_random_state(None))
        with unchanged_if_refused(self):
            samples = samples_of(self, X, y, sample_weight)
            labels = self.classes_[samples.device.to_host(samples.codes).astype(np.intp)]
            folds = self._folds(labels, routed.splitter.split)
            paths = [fit_folds(self, samples, folds, Cs, ratio, settings) for ratio in ratios]
            scores = [self._scores_of(samples, labels, folds, of_ratio, X, routed.scorer.score) for of_ratio in paths]
        self.Cs_, self.l1_ratios_, self.scores_ = np.array(Cs), np.array(ratios), np.swapaxes(scores, 0, 1)
        self.coefs_paths_ = np.swapaxes([[_joined(path, self.fit_intercept) for path in one] for one in paths], 0, 1)
        self.n_iter_ = np.swapaxes([[path.n_iter for path in one] for one in paths], 0, 1)
        reasons = np.concatenate([path.stop_reason for one in paths for path in one])
        best = (self._refit if self.refit else self._mean)(samples, settings)
        self._warn(np.append(reasons, best))
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> float:
        """Return the score of :attr:`scoring`, by default the accuracy.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`, on the host or a device.
        **params
            For the scorer, if scikit-learn's metadata routing is enabled.
        """
        routed = self._routed("score", sample_weight, params)
        operands, scores = self._whole_scores(X)
        known = Scored(self.classes_, operands.device.to_host(scores))
        labels = host_labels(_LABEL, y, len(scores))
        more = {name: to_host(_LABEL, one) for name, one in routed.scorer.score.items()}
        with OwnErrors(_LABEL, "scoring= that suits the labels"):
            return float(scorer_of(self._scorer(), self.classes_)(known, X, labels, **more))

    def get_metadata_routing(self) -> Any:
        """Return where scikit-learn's metadata routing sends parameters: to the splitter and the scorer."""
        fits = MethodMapping().add(caller="fit", callee="split")
        scores = MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=self.cv, method_mapping=fits).add(scorer=self._scorer(), method_mapping=scores)

    def _scorer(self) -> Any:
        return get_scorer(self.scoring or "accuracy")

    def _routed(self, method: str, sample_weight: Any, params: dict[str, Any]) -> Any:
        """Return the parameters of the splitter and of the scorer."""
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, method, **given, **params)
        if params:
            rule = "no further parameters without scikit-learn's metadata routing"
            raise ArgumentError(f"{_LABEL}.{method}: {rule}; got {', '.join(params)}")
        return Bunch(splitter=Bunch(split={}), scorer=Bunch(score=given))

    def _folds(self, labels: np.ndarray, params: dict[str, Any]) -> list[Fold]:
        """Return the rows of each fold."""
        with OwnErrors(_LABEL):
            splits = check_cv(self.cv, labels, classifier=True).split(np.arange(len(labels)), labels, **params)
            return [Fold(*map(np.asarray, _rows(pair, len(labels)))) for pair in splits]

    def _scores_of(
        self,
        samples: Samples,
        labels: np.ndarray,
        folds: list[Fold],
        paths: list[LogRegPath],
        X: Any,
        params: dict[str, Any],
    ) -> list[np.ndarray]:
        """Return the scores of each fold's path."""
        scorer, found = scorer_of(self._scorer(), self.classes_), []
        own = callable(self.scoring) and not hasattr(scorer, "_score_func")
        if own and device_operands(_LABEL, X) is not None:
            raise ArgumentError(f"{_LABEL}: scoring= by name or make_scorer for samples on a device; got a function")
        params = {name: to_host(_LABEL, one) for name, one in params.items()}
        for fold, path in zip(folds, paths, strict=True):
            tested = _safe_indexing(X.tocsr() if issparse(X) else X, fold.test) if own else fold.test
            more = _check_method_params(labels, params, fold.test)
            with OwnErrors(_LABEL, "scoring= that suits the labels"):
                found.append(scores_of_path(samples, labels, self.classes_, path, fold.test, tested, scorer, more))
        return found

    def _refit(self, samples: Samples, settings: Settings) -> str:
        """Fit the best pair to all samples."""
        totals = self.scores_.sum(axis=0)
        ratio, C = np.unravel_index(np.argmax(totals.T), totals.T.shape)[::-1]
        self.C_, self.l1_ratio_ = float(self.Cs_[C]), float(self.l1_ratios_[ratio])
        mean = self.coefs_paths_[:, ratio, C].mean(axis=0).astype(np.float64)
        k = samples.features.shape[1]
        start = np.concatenate([mean[:, :k].ravel(), mean[:, k:].ravel()])
        path = fit_path(self, samples, [self.C_], self.l1_ratio_, settings, start)
        self.coef_, self.intercept_ = path.coef[0], path.intercept[0]
        if self.l1_ratio_ > 0:
            self.dual_gap_ = float(path.dual_gap[0])
        return str(path.stop_reason[0])

    def _mean(self, samples: Samples, settings: Settings) -> str:
        """Average the weights of each fold's best pair."""
        folds = np.arange(len(self.scores_))
        places = [np.unravel_index(np.argmax(one.T), one.T.shape)[::-1] for one in self.scores_]
        ratios, Cs = np.transpose(places)
        self.C_, self.l1_ratio_ = float(self.Cs_[Cs].mean()), float(self.l1_ratios_[ratios].mean())
        mean, k = self.coefs_paths_[folds, ratios, Cs].mean(axis=0), samples.features.shape[1]
        self.coef_ = mean[:, :k].astype(samples.dtype)
        self.intercept_ = mean[:, k] if self.fit_intercept else np.zeros(len(mean), samples.dtype)
        return "tolerance"

    def _warn(self, reasons: np.ndarray) -> None:
        for reason, rule in (
            ("max_iter", f"fits that end within max_iter={self.max_iter} iterations"),
            ("stalled", "a loss within 1e-6 of the minimum"),
        ):
            if count := int(np.sum(reasons == reason)):
                got = f"got {count} of {len(reasons)} fits that end before (standardise the features)"
                warnings.warn(f"{_LABEL}: {rule}; {got}", ConvergenceWarning, stacklevel=3)


def _rows(pair: Any, count: int) -> list[np.ndarray]:
    """Return the rows of a fold; masks become row numbers."""
    return [np.arange(count)[np.asarray(one)] for one in pair]


def _joined(path: LogRegPath, fit_intercept: bool) -> np.ndarray:
    return np.concatenate([path.coef, path.intercept[..., None]], axis=-1) if fit_intercept else path.coef
