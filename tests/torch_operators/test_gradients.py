"""gpuprims.torch: derivatives against finite differences, on the reference device, and against torch's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.errors import ArgumentError, ExpressionError

torch = pytest.importorskip("torch")
operators = pytest.importorskip("gpuprims.torch")

AFFINE = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (1, 0), name="affine")
LOG_SUM = gpuprims.Op(lambda a, b: np.maximum(a, b) + np.log1p(np.exp(-abs(a - b))), np.float64(-1e300))


@pytest.fixture(autouse=True)
def reference() -> Iterator[None]:
    with gpuprims.use_device("reference"):
        yield


@pytest.fixture
def numbers(rng: np.random.Generator) -> Callable[..., Any]:
    """Make tensors of random numbers, apart from 0, with gradients."""

    def make(*shape: int) -> Any:
        values = rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)
        return torch.tensor(values, requires_grad=True)

    return make


def _check(function: Callable[..., Any], *tensors: Any, twice: bool = False) -> None:
    assert torch.autograd.gradcheck(function, tensors)
    assert not twice or torch.autograd.gradgradcheck(function, tensors)


EXPRESSIONS = [
    "where(x > 0, sin(x)*y, exp(x)/(y*y + 1))", "maximum(x, y) - minimum(x, 0.3)", "x*y + x/y - square(x)",
    "sqrt(abs(x)) * log(abs(y)) + cbrt(x)", "tanh(x) + arctan2(x, y) + hypot(x, y)", "abs(x)**y + 2**x + x**3",
    "log1p(abs(x)) + expm1(y) + exp2(x) + log2(abs(y)) + log10(abs(x))", "cos(x) + tan(y/2) + floor(x) + sign(y)",
    "arcsin(x/2) + arccos(y/2) + arctan(x) + reciprocal(y)", "fmod(x, 0.7) + x % 0.9 + copysign(x, y) + -y",
    "sinh(x) + cosh(y) + arcsinh(x) + arccosh(abs(y) + 1) + arctanh(x/2)",
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_functions_of_elements(numbers: Callable[..., Any], expression: str) -> None:
    _check(lambda x, y: operators.map(expression, x, y), numbers(3, 4), numbers(3, 4))


def test_several_results_of_arrays_that_broadcast(numbers: Callable[..., Any]) -> None:
    def both(x: Any, y: Any) -> Any:
        return operators.map(lambda a, b: (a * b, a + b * b, a > b), x, y)[:2]

    _check(both, numbers(3, 4), numbers(3, 1), twice=True)
    _check(both, numbers(2, 3, 4), numbers(1))
    x, whole = numbers(3), torch.arange(3)
    operators.map("x * n", x, whole).sum().backward()
    assert torch.equal(x.grad, torch.arange(3.0, dtype=torch.float64))


def test_a_function_without_a_derivative_says_so(numbers: Callable[..., Any]) -> None:
    result = operators.map("angle(x) * x", numbers(3))  # is arctan2 to kernels
    with pytest.raises(ExpressionError, match=r"derivative: functions with one here; got angle \(write it as others"):
        result.sum().backward()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min", LOG_SUM], ids=str)
def test_scans(numbers: Callable[..., Any], op: Any, reverse: bool) -> None:
    for shape, dim in (((9,), 0), ((3, 5), 0), ((2, 3, 4), -1), ((1,), 0), ((0,), 0)):
        _check(lambda x, dim=dim: operators.scan(x, op=op, dim=dim, reverse=reverse), numbers(*shape))
    if op != "sum":
        _check(lambda x: operators.scan(x, op=op, reverse=reverse), numbers(4), twice=True)


def test_checkpoints_compute_the_forward_pass_again(numbers: Callable[..., Any]) -> None:
    for function in (lambda x: operators.scan(x, op="prod"), lambda x: operators.linear_recurrence(x, x)):
        x = numbers(7)
        (expected,) = torch.autograd.grad(function(x).sum(), x)  # type: ignore[no-untyped-call]
        torch.utils.checkpoint.checkpoint(function, x, use_reentrant=False).sum().backward()
        assert torch.equal(x.grad, expected)


def test_products_with_zeros_among_them() -> None:
    x = torch.tensor([1.0, 0, 2, 0, 3], dtype=torch.float64, requires_grad=True)
    _check(lambda x: operators.scan(x, op="prod"), x)
    _check(lambda x: operators.reduce(x, "prod"), x)


@pytest.mark.parametrize("reverse", [False, True])
def test_operators_of_several_components(numbers: Callable[..., Any], reverse: bool) -> None:
    _check(lambda x, y: operators.scan(x, y, op=AFFINE, reverse=reverse), numbers(2, 5), numbers(2, 5), twice=True)
    x, y = numbers(5), numbers(5)
    _check(lambda x, y: operators.scan(x, y, op=AFFINE, reverse=reverse)[1], x, y)  # one result has no gradient


@pytest.mark.parametrize("reverse", [False, True])
def test_linear_recurrences(numbers: Callable[..., Any], reverse: bool) -> None:
    def states(a: Any, b: Any, *initial: Any) -> Any:
        return operators.linear_recurrence(a, b, 1, initial=initial[0] if initial else None, reverse=reverse)

    _check(states, numbers(2, 6), numbers(2, 6), twice=True)
    _check(states, numbers(2, 6), numbers(2, 6), numbers(2))
    _check(states, numbers(1, 6), numbers(2, 1))
    a, b, h = numbers(2, 6), numbers(2, 6), numbers(2)
    expected = h
    for k in reversed(range(6)) if reverse else range(6):
        expected = a[:, k] * expected + b[:, k]
    assert torch.allclose(states(a, b, h)[:, 0 if reverse else -1], expected)


@pytest.mark.parametrize("op", ["sum", "mean", "prod", "max", "min"])
def test_reductions(numbers: Callable[..., Any], op: str) -> None:
    for dim, keepdim in ((None, False), (1, False), (1, True), ((0, -1), False)):
        _check(lambda x, dim=dim, keep=keepdim: operators.reduce(x, op, dim, keep), numbers(3, 4, 2))


def test_equal_largest_elements_share_a_gradient() -> None:
    x = torch.tensor([1.0, 3.0, 3.0], requires_grad=True)
    operators.reduce(x, "max").backward()
    assert torch.equal(x.grad, torch.tensor([0, 0.5, 0.5]))


@pytest.mark.parametrize("op", ["sum", "mean", "max", "min"])
def test_segments(numbers: Callable[..., Any], op: str) -> None:
    offsets = torch.tensor([0, 3, 3, 10, 20] if op == "sum" else [0, 3, 10, 20])
    _check(lambda x: operators.segment_reduce(x, offsets, op), numbers(20))


@pytest.mark.parametrize("mode", ["nearest", "reflect", "mirror", "wrap", "constant"])
def test_stencils(numbers: Callable[..., Any], mode: str) -> None:
    weights = [[1, 2, 3], [0, -1, 2.5], [1, 0.5, -2]]
    _check(lambda x: operators.stencil(x, weights, mode, 1.5), numbers(2, 6, 5))
    _check(lambda x: operators.stencil(x, [1, 2, 3.5, 0, -1], mode), numbers(2), twice=True)  # narrower than weights
    _check(lambda x: operators.stencil(x, [1, 2, 3.5], mode), numbers(1))


def test_what_has_no_derivative_is_refused(numbers: Callable[..., Any]) -> None:
    with pytest.raises(
        NotImplementedError, match="reduce: the derivative of sum, mean, prod, max or min; got op='var'"
    ):
        operators.reduce(numbers(3), "var").backward()
    with pytest.raises(ArgumentError, match="scan: op= sum, prod, max, min or an Op, for derivatives; got 'any'"):
        operators.scan(numbers(3), op="any")
    counting = gpuprims.Op(lambda a, b: a + b, 0, prepare=lambda x, k: x)
    with pytest.raises(ArgumentError, match="scan: an Op of a function and an identity alone"):
        operators.scan(numbers(3), op=counting)
    with pytest.raises(ArgumentError, match=r"stencil: weights without requires_grad; got .* \(pass weights.tolist"):
        operators.stencil(numbers(3), numbers(3))


@pytest.mark.parametrize("op", ["sum", "mean", "prod"])
def test_outputs_of_nothing(op: str) -> None:
    for dim in (0, 1, (0, 1)):
        x = torch.ones((3, 2, 0), requires_grad=True)
        operators.reduce(x, op, dim).sum().backward()
        assert x.grad.shape == x.shape


COMPLEX: dict[str, Callable[[Any, Any], Any]] = {
    "map": lambda x, y: operators.map("x*exp(y) + x*x/y", x, y[0]),
    "map beside reals": lambda x, y: operators.map("x*y", x.real, y),
    "products": lambda x, y: operators.reduce(x, "prod", 1) * operators.reduce(y, "mean"),
    "scan of products": lambda x, y: operators.scan(x, op="prod", reverse=True),
    "scan of pairs": lambda x, y: operators.scan(x, y, op=AFFINE)[1],
    "segments": lambda x, y: operators.segment_reduce(x[0], torch.tensor([0, 2, 3])),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_gradients_of_complex_numbers_have_conjugates_as_torchs(rng: np.random.Generator, name: str) -> None:
    parts = rng.uniform(0.5, 1.5, (2, 2, 2, 3))
    x, y = (torch.tensor(one[0] + 1j * one[1], requires_grad=True) for one in parts)
    _check(COMPLEX[name], x, y, twice=True)


def test_functions_of_the_parts_of_complex_numbers_have_no_derivative() -> None:
    x = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    with pytest.raises(NotImplementedError, match=r"map: a derivative by real tensors; got .* in absolute\(\)"):
        operators.map("abs(x)", x).sum().backward()
    with pytest.raises(ArgumentError, match="scan: an Op with a real identity, for derivatives; got 1j"):
        operators.scan(x, op=gpuprims.Op("a*b*(-1j)", 1j))
