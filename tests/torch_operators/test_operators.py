"""gpuprims.torch: results on every device, torch.compile, and torch's own checks of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.errors import ArgumentError, ArrayError, AxisError, ShapeError
from gpuprims.expressions import expression

torch = pytest.importorskip("torch")
operators = pytest.importorskip("gpuprims.torch")
texts = pytest.importorskip("gpuprims.torch.texts")

AFFINE = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (1, 0), name="affine")


@pytest.fixture(params=["host", "gpu"])
def place(request: pytest.FixtureRequest, device: gpuprims.Device) -> str:
    """Where tensors lie."""
    if request.param == "gpu" and device.backend != "cuda":
        pytest.skip("is about tensors on a CUDA GPU")
    return "cuda" if request.param == "gpu" else "cpu"


def test_results_and_gradients(device: gpuprims.Device, rng: np.random.Generator, place: str) -> None:
    values = rng.standard_normal((5, 300)).astype(np.float32)
    x = torch.tensor(values, device=place, requires_grad=True)
    with gpuprims.use_device(device):
        forget = operators.map("1 / (1 + exp(-x))", x)
        h = operators.linear_recurrence(forget, x)
        largest = operators.scan(x.T, op="max", dim=0)
        blurred = operators.stencil(x, [1, 2, 1])
        ours = h.sum() + largest.mean() + operators.reduce(blurred, "mean")
        assert h.device == x.device
        (gradient,) = torch.autograd.grad(ours, x)
    state, states = torch.zeros(5, device=place), []
    for k in range(300):
        state = torch.sigmoid(x[:, k]) * state + x[:, k]
        states.append(state)
    wide = torch.cat([x[:, :1], x, x[:, -1:]], 1)
    blurred = wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]
    torchs = torch.stack(states, 1).sum() + torch.cummax(x, 1).values.mean() + blurred.mean()
    (expected,) = torch.autograd.grad(torchs, x)
    torch.testing.assert_close(ours, torchs, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-4)


def _forward(x: Any) -> Any:
    h = operators.linear_recurrence(operators.map("1 / (1 + exp(-x))", x), x)
    return (
        h.sum() + operators.scan(x, x, op=AFFINE)[1].mean() + operators.reduce(operators.stencil(x, [1, 2, 1]), "max")
    )


def test_compiled_graphs_have_no_breaks(rng: np.random.Generator) -> None:
    x = torch.tensor(rng.standard_normal((5, 30)), requires_grad=True)
    with gpuprims.use_device("reference"):
        compiled = torch.compile(_forward, backend="aot_eager", fullgraph=True)
        for part in (x, x.detach()[:, 3:].requires_grad_()):
            got, expected = compiled(part), _forward(part)
            torch.testing.assert_close(got, expected)
            torch.testing.assert_close(torch.autograd.grad(got, part), torch.autograd.grad(expected, part))


CALLS: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "map": lambda x, y: (texts.function_text("(x*y + 1, x > y)", 2), [x, y]),
    "map.transposed": lambda x, y: (texts.function_text("x*x", 1), [x.detach().T]),
    "scan": lambda x, y: ("prod", [x], 1, False),
    "scan.affine": lambda x, y: (texts.operator_text(AFFINE), [x, y], 0, True),
    "scan_gradient": lambda x, y: (
        texts.function_text("h*a + b", 3),
        [0.0],
        [x.detach()],
        [y.detach()] * 2,
        [y.detach().T.contiguous().T],
        1,
        True,
    ),
    "linear_recurrence": lambda x, y: (x, y, 1, True),
    "reduce": lambda x, y: (x, "max", [1], False),
    "reduce.prod": lambda x, y: (x, "prod", [0, 1], True),
    "segments": lambda x, y: (x.detach()[0], torch.tensor([0, 2, 7]), "mean"),
    "stencil": lambda x, y: (x, [1.0, 2.0, 1.0], [3], "mirror", 0.0),
}


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")  # opcheck's own
@pytest.mark.parametrize("name", CALLS)
def test_torchs_checks_of_operators(rng: np.random.Generator, name: str) -> None:
    x, y = (torch.tensor(rng.standard_normal((3, 7)), requires_grad=True) for _ in "xy")
    operator = getattr(torch.ops.gpuprims, name.partition(".")[0]).default
    with gpuprims.use_device("reference"):
        found = torch.library.opcheck(operator, CALLS[name](x, y))
    assert set(found.values()) == {"SUCCESS"}


def test_texts_say_everything() -> None:
    text = texts.operator_text(AFFINE)
    texts.read_operator.cache_clear()  # as in another process
    read = texts.read_operator(text)
    assert read.fold == AFFINE.fold
    assert (read.identity((np.dtype("f4"),) * 2), read.commutative) == ((1, 0), False)
    for function in ("where(x > 0, sqrt(x), -y)", "x + 1j", "x * 3", "x * 3.0", "x > inf"):
        expr = expression(function)
        assert texts.read_function(texts.function_text(function, None)) == expr


def test_dtypes_of_results() -> None:
    with gpuprims.use_device("reference"):
        assert operators.reduce(torch.ones(3, dtype=torch.int32)).dtype == torch.int64
        assert operators.scan(torch.ones(3, dtype=torch.float16)).dtype == torch.float16
        assert operators.map("x > 0", torch.ones(3)).dtype == torch.bool
        x = torch.ones(3, dtype=torch.bfloat16, requires_grad=True)
        operators.map("3*x", x).sum().backward()
        assert x.grad.dtype == torch.bfloat16
        assert x.grad.tolist() == [3, 3, 3]


def test_views_of_tensors(place: str) -> None:
    x = torch.arange(12, dtype=torch.float32, device=place).reshape(3, 4)
    z = torch.complex(x, x + 1)
    plain = [x.T, x[1:, ::2], x[:, :1].expand(3, 4), x[:0], x.clone().requires_grad_(), x.bfloat16(), x.int()]
    for one in [*plain, z, z.conj(), z.conj().imag]:
        got = operators.map("x + x", one)
        torch.testing.assert_close(got, one + one)
        assert got.device == x.device
    with pytest.raises(ArrayError, match="a dense array"):
        operators.map("x + x", x.to_sparse())


def test_work_in_streams_of_torch(place: str) -> None:
    if place == "cpu":
        pytest.skip("is about streams of a CUDA GPU")
    elements = torch.randint(-2, 3, (1 << 22,), device=place).float()
    expected = torch.cumsum(2 * elements, 0)
    for _ in range(5):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            x = elements.detach().requires_grad_()  # torch warns of gradients that another stream accumulated before
            got = operators.scan(2 * x) * 1
            (gradient,) = torch.autograd.grad(got.sum(), x)
            torch.testing.assert_close(got, expected)
            torch.testing.assert_close(gradient, 2 * torch.arange(len(x), 0, -1, device=place).float())


def test_wrong_arguments_are_refused_in_a_sentence() -> None:
    x = torch.ones(2, 3)
    with pytest.raises(AxisError, match=r"scan: dim from -2 to 1 for 2 dimension\(s\); got 2"):
        operators.scan(x, dim=2)
    with pytest.raises(ShapeError, match=r"scan: tensors of one shape and dtype; got \(2, 3\) of .*, \(3, 2\) of"):
        operators.scan(x, x.T, op=AFFINE)
    with pytest.raises(
        ArgumentError, match=r"linear_recurrence: floats of one dtype; got torch.float32 and torch.int64"
    ):
        operators.linear_recurrence(x, x.long())
    with pytest.raises(ArgumentError, match="map: at least one tensor; got none"):
        operators.map("x")


WRONG: dict[str, tuple[type[Exception], str, Callable[[Any], Any]]] = {
    "a number": (ArrayError, "map: a tensor of torch; got 2.0", lambda x: operators.map("x + y", x, 2.0)),
    "a list": (ArrayError, "scan: a tensor of torch", lambda x: operators.scan([1.0])),
    "an array": (ArrayError, "reduce: a tensor of torch", lambda x: operators.reduce(np.ones(3))),
    "offsets in a list": (ArrayError, "segment_reduce: a tensor", lambda x: operators.segment_reduce(x[0], [0, 3])),
    "a dim as a text": (AxisError, "reduce: dim from -2 to 1", lambda x: operators.reduce(x, dim="0")),
    "a dim as a bool": (AxisError, "reduce: dim from -2 to 1", lambda x: operators.reduce(x, dim=True)),
    "a dim as a float": (AxisError, "scan: dim from -2 to 1", lambda x: operators.scan(x, dim=0.0)),
    "keepdim": (ArgumentError, "reduce: keepdim= True or False", lambda x: operators.reduce(x, keepdim="no")),
    "reverse": (ArgumentError, "scan: reverse= True or False", lambda x: operators.scan(x, reverse="no")),
    "no name": (ArgumentError, "reduce: op= the name", lambda x: operators.reduce(x, np.add)),
    "a function": (ArgumentError, "scan: op= sum, .* or an Op; got", lambda x: operators.scan(x, op=np.add)),
    "two results": (ArgumentError, "reduce: an operator with one", lambda x: operators.reduce(x, "minmax")),
    "shapes": (ShapeError, "shapes that broadcast", lambda x: operators.linear_recurrence(x, x[:, :2])),
    "initial": (
        ShapeError,
        r"initial= of shape \(2,\); got \(3,\)",
        lambda x: operators.linear_recurrence(x, x, initial=x[0]),
    ),
    "cval": (ArgumentError, "stencil: cval= a real number", lambda x: operators.stencil(x, [1], cval="1")),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused_before_torch_does(name: str) -> None:
    error, message, call = WRONG[name]
    with pytest.raises(error, match=message):
        call(torch.ones(2, 3))
