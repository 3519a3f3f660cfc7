"""Errors of libraries beside ours."""


class NoFunctionError(LookupError):
    """The library has no function for a call."""
