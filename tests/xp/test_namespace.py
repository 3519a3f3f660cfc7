"""The namespace for array-api-tests, and its list of skipped tests."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gpuprims import xp

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def namespace() -> ModuleType:
    spec = importlib.util.spec_from_file_location("namespace", HERE / "namespace.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_namespace_has_each_function_of_xp_and_numpys_others(namespace: ModuleType) -> None:
    for name in xp.__all__:
        assert inspect.signature(getattr(namespace, name)) == inspect.signature(getattr(xp, name))
    for name in (name for names in xp.REFUSED.values() for name in names.split()):
        assert getattr(namespace, name) is getattr(np, name)
    x = namespace.asarray([1, 2, 3], dtype=namespace.int8)
    assert namespace.sum(x).dtype == namespace.int64
    assert namespace.unique_counts(x).counts.tolist() == [1, 1, 1]


def test_the_list_of_skipped_tests_gives_a_reason_for_each() -> None:
    lines = (HERE / "array-api-skips.txt").read_text().splitlines()
    for paragraph in "\n".join(lines).split("\n\n"):
        reason, *rest = paragraph.splitlines()
        assert reason.startswith("# ")
        assert [one for one in rest if not one.startswith("#")], reason
    named = [line for line in lines if line and not line.startswith("#")]
    assert len({*named}) == len(named)
