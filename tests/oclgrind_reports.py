"""A plugin of pytest that notes the tests during which Oclgrind's report grew, in a file beside the report."""

from __future__ import annotations

import os
from pathlib import Path

SUFFIX = ".tests"
_lengths: dict[Path, int] = {}


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Note a test that ends with more in the report of its worker than it began with."""
    log = Path(os.environ["OCLGRIND_LOG"])  # of each worker its own; see conftest.py
    length = log.stat().st_size if log.exists() else 0
    if length > _lengths.get(log, 0):
        _lengths[log] = length
        with Path(f"{log}{SUFFIX}").open("a") as tests:
            tests.write(f"{nodeid}\n")
