"""What a library may say of a call."""


class NoFunctionError(LookupError):
    """The library has no function for a call."""
