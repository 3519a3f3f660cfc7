"""Fixtures of tuning."""

from tuned import offered, path  # noqa: F401
