"""LogReg: logistic regression with scikit-learn's interface, on any device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from gpuprims.core.determinism import LEVELS, Level, at_level
from gpuprims.core.device import Device
from gpuprims.expressions.narrow import STORAGE
from gpuprims.models.checks import CheckedParameters, check_fitted, named_parameters
from gpuprims.models.files import SavedModel
from gpuprims.models.logreg import fitting
from gpuprims.models.logreg.paths import LogRegPath
from gpuprims.models.logreg.penalties import PENALTIES, SAMPLE_SOLVERS, SOLVERS
from gpuprims.models.logreg.prediction import LinearScores
from gpuprims.models.logreg.progress import Progress, warn_of
from gpuprims.models.pictures import loss_curve


@named_parameters
@dataclass(eq=False, repr=False)  # scikit-learn has its own
class LogReg(LinearScores, SavedModel, CheckedParameters, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Logistic regression of two or more classes, on any device.

    Parameters
    ----------
    backend, device : str or Device, optional
        Where to compute, such as ``"cuda"`` or ``"opencl:cpu"``. Pass one of the two, which mean the same. Default:
        where the samples are, or the best device.
    penalty : {"elasticnet", "l1", "l2"} or None, default "elasticnet"
        "elasticnet" mixes the L1 and L2 norms by ``l1_ratio``, "l2" and "l1" have one of them alone, and None
        is no penalty.
    C : float, default 1.0
        Inverse of the penalty. The objective is the sum of log losses plus ``1 / C`` times the sum over coefficients of
        ``(1 - l1_ratio) / 2 * coef**2 + l1_ratio * abs(coef)``. Intercepts have no penalty.
    l1_ratio : float, default 0.0
        Share of the L1 norm in the penalty. Above 0, some coefficients are exactly zero.
    solver : {"auto", "lbfgs", "newton-cholesky", "newton-cd", "fista", "gd", "minibatch", "sgd", "hogwild"}
        By default "auto": "lbfgs", or with an L1 penalty "newton-cd" up to 256 coefficients. More features
        are fitted by "newton-cd" in sets that grow, or by "fista" if more coefficients are needed than a set may have.
        Two classes of few dense samples are fitted by Newton's method in one launch, as by :class:`LogRegBatch`, unless
        there is a ``callback``, progress bar or validation, or the fit starts from earlier weights. On CPUs, more
        classes of few samples and features are fitted by "newton-cholesky", which also suits many samples of few
        features. "gd" is gradient descent with a fixed step, and "minibatch" descends by batches. "sgd" descends by
        single samples, one after the other, and "hogwild" by several at a time without locks, so its results differ
        from run to run; both take two classes only. With an L1 penalty, "newton-cd" minimises quadratic
        models by coordinate descent, and "fista" takes accelerated proximal gradients.
    variant : str, optional
        The kernel of "gd", "sgd" or "hogwild", instead of the best one, such as "tree" or "racy"; see
        :doc:`/kernels`. "gd" takes those of descent, and of logistic for one iteration a launch.
    learning_rate : float or "auto", default "auto"
        The step of "gd", ``weights += learning_rate * X.T @ (labels - sigmoid(X @ weights))``; of "minibatch", the
        same for a batch; of "sgd" and "hogwild", for a sample. "auto" is the inverse of the gradient's largest slope,
        divided by the square root of the epoch except for "gd".
    batch_size : int, default 256
        Samples in a batch of "minibatch" and ``partial_fit``.
    max_iter : int, default 100
        Maximum number of iterations; epochs for "minibatch", "sgd" and "hogwild".
    tol : float, default 1e-4
        Stop when no component of the gradient, per sample, is larger; in one launch, when a step changes no combination
        of weights by more than so many of its standard errors. "gd" checks after 1, 2, 4, ... iterations and at
        least every 16384. With an L1 penalty: stop when ``dual_gap_`` is at most ``tol * log(n_classes)``.
    fit_intercept : bool, default True
        Add a constant to the scores.
    feature_dtype : {"int8", "int16", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"}, optional
        Store features in fewer bits during a fit, in units of each feature's largest magnitude. Not for sparse samples.
    class_weight : dict or "balanced", optional
        Weights of the classes, which multiply sample weights. "balanced" is inversely proportional to class frequency.
    threshold : float, default 0.5
        Predict the second of two classes above this probability.
    target_error : float, optional
        Stop when the error on validation samples is no larger.
    validation_fraction : float, default 0.1
        Share of the samples to set aside for validation if there is a ``target_error``.
    warm_start : bool, default False
        Start from the weights of the previous fit, which had as many classes and features.
    random_state : int, RandomState instance or None, default None
        Chooses the validation samples and the order of samples and batches.
    callback : callable, optional
        Called after each iteration or check with ``iteration``, ``loss``, ``coef`` and ``intercept``. True stops.
    verbose : bool, default False
        Show a progress bar with the loss.
    composed : bool, default False
        Fit by the primitives map, reduce and csr alone; not for "sgd" or "hogwild", which are kernels of their own.
    determinism : {"none", "run", "device", "order"}, optional
        The level of fits and predictions; see :func:`gpuprims.use_determinism`. At "device" and "order", fits are
        composed, and "auto" is "lbfgs"; not for an L1 penalty or "hogwild". "sgd" and "minibatch" take
        samples in an order, so they reach "device".
    tf32 : bool, default False
        Begin a fit of several classes, or by "newton-cholesky", with products in TF32 on an NVIDIA GPU; end in float32.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    loss_curve_, loss_iterations_ : list of float, list of int
        The objective per unit of sample weight after each iteration (each check of "gd"), and that iteration.
    dual_gap_ : float
        With an L1 penalty: the objective per unit of sample weight is at most this far above the minimum.
    validation_errors_ : list of float
        Errors on the validation samples, if there are any.
    n_iter_ : int
    stop_reason_ : str
        "tolerance", "max_iter", "target_error", "callback" or "interrupted"; "rounding" if the dtype allows no further
        progress and the loss is within 1e-6 of the minimum, "stalled" if it may be further away; "diverged".
    n_features_in_ : int

    Notes
    -----
    Fits compute in float32 for float32 samples (few ones of several classes on CPUs: in float64) and in float64 for all
    others. If float32 rounding stops "lbfgs" or "newton-cholesky" early, as with features far from zero, the fit
    continues in float64. If the loss may still be more than 1e-6 above the minimum, a ConvergenceWarning says so.

    Samples on a device, such as CuPy's, pyopencl's or torch's, stay there. Their scores, probabilities and predicted
    classes are on that device too, except for classes that it cannot store, such as strings. Weights are on the host.

    Ctrl-C during :meth:`fit` raises KeyboardInterrupt. The model then has the weights of the last iteration in
    ``loss_curve_``, and ``stop_reason_`` is "interrupted".

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.models import LogReg
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = LogReg(backend="reference").fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict([[-3.0], [3.0]]).tolist()
    ['no', 'yes']
    >>> model.stop_reason_
    'tolerance'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{key: [str, Device, None] for key in ("backend", "device")},
        "C": [Interval(Real, 0, None, closed="right")],
        "penalty": [StrOptions(set(PENALTIES)), None],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "solver": [StrOptions({"auto", *SOLVERS})],
        "variant": [str, None],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        **{key: [Interval(Integral, 1, None, closed="left")] for key in ("batch_size", "max_iter")},
        "tol": [Interval(Real, 0, None, closed="left")],
        **{key: ["boolean"] for key in ("fit_intercept", "warm_start", "composed", "tf32")},
        "feature_dtype": [StrOptions({"int8", "int16", "float16", *STORAGE}), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        **{key: [Interval(Real, 0, 1, closed="neither")] for key in ("threshold", "validation_fraction")},
        "target_error": [Interval(Real, 0, 1, closed="both"), None],
        "random_state": ["random_state"],
        "callback": [callable, None],
        "verbose": ["verbose"],
        "determinism": [StrOptions(set(LEVELS)), None],
    }

    backend: str | Device | None = None
    _: KW_ONLY
    device: str | Device | None = None
    penalty: str | None = "elasticnet"
    C: float = 1.0
    l1_ratio: float = 0.0
    solver: str = "auto"
    variant: str | None = None
    learning_rate: float | str = "auto"
    batch_size: int = 256
    max_iter: int = 100
    tol: float = 1e-4
    fit_intercept: bool = True
    feature_dtype: str | None = None
    class_weight: Any = None
    threshold: float = 0.5
    target_error: float | None = None
    validation_fraction: float = 0.1
    warm_start: bool = False
    random_state: Any = None
    callback: Callable[[Progress], Any] | None = None
    verbose: bool = False
    composed: bool = False
    determinism: Level | None = None
    tf32: bool = False

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that samples may be sparse, and that some solvers take two classes only."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = self.solver not in SAMPLE_SOLVERS
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array_like or SciPy sparse matrix of shape (n_samples, n_features)
            On the host or a device. Sparse matrices are converted to CSR.
        y : array_like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array_like of shape (n_samples,), optional
            By default, 1 for each sample.

        Returns
        -------
        self

        Raises
        ------
        ArgumentError
            NaN or infinity in ``X``, a single class, negative weights, sparse indices out of bounds; for "sgd" and
            "hogwild", more than two classes; with ``warm_start``, other classes or features than in the fit before.
            The model then stays as it was.
        DeviceMismatchError
            Samples on another device than the one asked for.
        KeyboardInterrupt
            After Ctrl-C; the model keeps the weights of the last iteration.

        Examples
        --------
        >>> from gpuprims.models import LogReg
        >>> model = LogReg("reference").fit([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1], sample_weight=[1, 1, 1, 2])
        >>> model.coef_.shape
        (1, 1)
        """
        self._validate_params()
        at_level("LogReg", self.determinism, fitting.fit, self, X, y, sample_weight)
        warn_of(self, self.stop_reason_)
        return self

    @available_if(fitting.descends_by_batches)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Run one epoch of mini-batches from the current weights; not with an L1 penalty.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`. The penalty is that of as many samples as in this call.
        classes : array_like, optional
            All classes; required in the first call.

        Returns
        -------
        self

        Raises
        ------
        ArgumentError
            No ``classes`` in the first call, other ones in a later call, labels of other classes, or
            ``class_weight="balanced"``, as a call does not see all samples.
        KeyboardInterrupt
            After Ctrl-C; the model keeps the weights of the previous call.

        Examples
        --------
        >>> from gpuprims.models import LogReg
        >>> model = LogReg("reference").partial_fit([[-2.0], [2.0]], [0, 1], classes=[0, 1])
        >>> model.partial_fit([[-1.0], [1.0]], [0, 1]).n_iter_
        2
        """
        self._validate_params()
        if not at_level("LogReg", self.determinism, fitting.partial_fit, self, X, y, classes, sample_weight):
            warn_of(self, "diverged")
        return self

    def path(self, X: Any, y: Any, Cs: Any, sample_weight: Any = None) -> LogRegPath:
        """Fit the model for each of several ``C``, and return all weights.

        Samples are copied once. Two classes of dense samples without an L1 penalty are fitted side by side;
        else each fit starts from the weights of the next stronger penalty. The model keeps its ``classes_`` only.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        Cs : array_like
            Values of ``C``, in any order.

        Returns
        -------
        LogRegPath
            ``Cs``, ``coef``, ``intercept``, ``loss``, ``dual_gap``, ``n_iter`` and ``stop_reason`` of each fit.

        Examples
        --------
        >>> from gpuprims.models import LogReg
        >>> model = LogReg("reference", l1_ratio=1)
        >>> found = model.path([[-2.0, 0.0], [-1.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0, 0, 1, 1], Cs=[0.1, 1, 10])
        >>> (found.coef != 0).sum(axis=(1, 2)).tolist()
        [0, 1, 1]
        """
        self._validate_params()
        return at_level("LogReg", self.determinism, fitting.path, self, X, y, Cs, sample_weight)

    def plot_loss(self, ax: Any = None) -> Any:
        """Plot ``loss_curve_`` with matplotlib and return the axes."""
        check_fitted(self)
        return loss_curve(self.loss_iterations_, self.loss_curve_, f"LogReg, {self.solver}: {self.stop_reason_}", ax)
