"""Expressions from strangers: every failure raises ExpressionError, soon, with a short message."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from gpuprims.errors import DtypeError, ExpressionError
from gpuprims.expressions import emit_function, expression, typed
from gpuprims.expressions.functions import FUNCTIONS
from gpuprims.expressions.parse import MOST_CHARACTERS, MOST_DEPTH
from gpuprims.expressions.trace import MOST_INSTRUCTIONS, MOST_RESULTS

FLOAT32 = np.dtype(np.float32)
# The longest message: its own text, two quotations of 80 characters and one exception's message.
LONGEST = 420


def compiled(source: Any, dtype: np.dtype[Any] = FLOAT32) -> str:
    """Return the C of an expression, by the whole way that one takes."""
    expr = expression(source)
    arguments = [f"a{k}" for k in range(len(expr.parameters))]
    return emit_function("f", typed(expr, [dtype] * len(arguments)), arguments, lambda *results: "")


class Hostile:
    """Raises whatever is asked of it."""

    def __repr__(self) -> str:
        raise RuntimeError("x" * 1000)


STRINGS = {
    "too deep": "-" * (MOST_DEPTH + 1) + "x",
    "too deep for Python": "+".join("x" * (MOST_CHARACTERS // 2)),
    "too many parentheses": "(" * 4000 + "x" + ")" * 4000,
    "too long": "x" * (MOST_CHARACTERS + 1),
    "a long hexadecimal number": "0x" + "f" * 10**6,
    "a number of many bits": "0x" + "f" * 5000,
    "a number of many digits": "9" * 4000,
    "a number of more digits": "9" * 5000,
    "a number that grows": "*".join(["2**1000"] * 900),
    "a result that is no number of NumPy's": "(x, 2**70)",
    "nothing else": "2**70",
    "out of range": "x + int8(300)",
    "no integer": "x + int64(nan)",
    "many results": f"({'x,' * 200_000})",
    "a result too many": f"({'x,' * (MOST_RESULTS + 1)})",
    "a long name": "a" * 9000 + "(x)",
    "a long attribute": "x." + "a" * 9000,
    "a long text": f"'{'a' * 9000}'",
    "a null byte": "x\0",
    "half a character": "\ud800",
    "an angle of an object": "angle(2**70)",
}
FUNCTIONS_OF_STRANGERS = {
    "division by zero": lambda x: 1 / 0,
    "a missing key": lambda x: dict[str, Any]()["a" * 5000],
    "a long number": lambda x: x + 10**5000,
    "a long result": lambda x: 10**5000,
    "a result that is no number of NumPy's": lambda x: (x, 2**70),
    "a hostile result": lambda x: Hostile(),
    "a hostile operand": lambda x: x + Hostile(),
    "many results": lambda x: (x,) * (MOST_RESULTS + 1),
    "a long list": lambda x: [x] * 10**5,
    "a long text": lambda x: x + "a" * 5000,
    "recursion": lambda x: (lambda f: f(f))(lambda f: f(f)),
    "out of range": lambda x: x + np.uint8(300),
    "too many operations": lambda x: sum(x + k for k in range(MOST_INSTRUCTIONS // 2)),
    "a hostile object instead": Hostile(),
}


@pytest.mark.parametrize(
    "source",
    [*STRINGS.values(), *FUNCTIONS_OF_STRANGERS.values()],
    ids=[*STRINGS, *(f"traced {name}" for name in FUNCTIONS_OF_STRANGERS)],
)
def test_what_strangers_send_is_refused_in_few_words(source: Any) -> None:
    with pytest.raises(ExpressionError) as caught:
        compiled(source)
    assert len(str(caught.value)) <= LONGEST
    assert "a" * 81 not in str(caught.value)


def test_what_a_function_raises_is_the_cause() -> None:
    with pytest.raises(ExpressionError, match="got ZeroDivisionError: division by zero") as caught:
        expression(lambda x: x + 1 / 0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_dtype_from_a_stranger_is_quoted_in_few_words() -> None:
    for dtype in ("f4" * 5000, Hostile()):  # NumPy shows the second itself
        with pytest.raises((DtypeError, ExpressionError)) as caught:
            expression(lambda x, dtype=dtype: x.astype(dtype))
        assert len(str(caught.value)) <= LONGEST


def test_what_is_within_the_limits_compiles() -> None:
    for source in ("-" * MOST_DEPTH + "x", "+".join("x" * MOST_DEPTH), f"({'x,' * MOST_RESULTS})", "x + 2**100"):
        assert compiled(source)
    # x, 1 and 500 sums.
    assert compiled("x" + "+1" * MOST_DEPTH).count("\n") >= MOST_DEPTH
    assert compiled(lambda x: sum((x * k for k in range(2000)), x))


WORDS = [*FUNCTIONS, "clip", "int8", "uint8", "float16", "float64", "complex64", "bool", "uint64", "nonsense"]
ATOMS = [
    "x", "y", "1", "0", "-1", "0.5", "300", "2**70", "2**63", "1e400", "nan", "inf", "1j", "True", "None", "'a'", "...",
    "[]", "()", "x.y", "x[0]", "lambda: x", "{}", "f'{x}'", "é", "*x", "not x", "x if y else x", "x and y",
    "int8(300)", "uint8(-1)", "int64(inf)",
]  # fmt: skip
BETWEEN = ["+", "-", "*", "/", "//", "%", "**", "&", "|", "<<", ">>", "<", "==", ">", "@", "is", "in", ","]


def random_text(random: random.Random, depth: int) -> str:
    """Return a text that is an expression, nearly one, or none."""
    if depth == 0 or random.random() < 0.3:
        return random.choice(ATOMS)
    if random.random() < 0.5:
        return f"({random_text(random, depth - 1)} {random.choice(BETWEEN)} {random_text(random, depth - 1)})"
    if random.random() < 0.2:
        return random.choice("-+~") + random_text(random, depth - 1)
    name = random.choice(WORDS)
    arity = FUNCTIONS[name].arity if name in FUNCTIONS else random.choice((1, 1, 2, 3))
    return f"{name}({', '.join(random_text(random, depth - 1) for _ in range(arity))})"


def test_random_texts_compile_or_are_refused() -> None:
    generator = random.Random(20261122)  # noqa: S311 - not for secrets
    dtypes = [np.dtype(name) for name in ("b1", "i1", "i8", "u4", "u8", "f2", "f4", "f8", "c8")]
    compiles = 0
    for _ in range(3000):
        text = random_text(generator, generator.randint(1, 5))
        if generator.random() < 0.1:
            at = generator.randrange(len(text))
            text = text[:at] + generator.choice("()[],.\0 '1e") + text[at + generator.randint(0, 2) :]
        try:
            compiled(text, generator.choice(dtypes))
            compiles += 1
        except (ExpressionError, DtypeError) as error:
            assert len(str(error)) <= LONGEST, text  # noqa: PT017 - whether it raises depends on the text
    assert 300 < compiles < 2700
