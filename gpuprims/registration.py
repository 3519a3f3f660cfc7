"""Kernels from outside: how a program adds one, and takes it away again."""

from __future__ import annotations

from gpuprims.registry import REGISTRY, Variant


def register(variant: Variant) -> None:
    """Add a kernel to those that gpuprims chooses from.

    Parameters
    ----------
    variant : Variant
        Installed packages name theirs under the entry point ``gpuprims.kernels.<backend>`` instead.

    Raises
    ------
    RegistryError
        When its name or rank is taken, a field is of another type or out of range, its primitive is unknown, or its
        kernel file is not there or lacks the function that is named as :attr:`Variant.entry`.
    UnknownDeviceError, BackendUnavailableError
        When its backend is unknown, or of an installed package that fails.

    See Also
    --------
    unregister : takes it away again.

    Examples
    --------
    >>> import dataclasses, gpuprims
    >>> from gpuprims.registry import REGISTRY
    >>> own = REGISTRY.variants("map", "reference")[0]
    >>> gpuprims.register(own)
    Traceback (most recent call last):
    ...
    gpuprims.errors.RegistryError: reference map/numpy: a name claimed once; got a second variant of that name
    >>> mine = dataclasses.replace(own, name="mine", rank=1)
    >>> gpuprims.register(mine)
    >>> gpuprims.explain("map", "reference").chosen.name
    'mine'
    >>> gpuprims.unregister(mine)
    """
    REGISTRY.register(variant)


def unregister(variant: Variant) -> None:
    """Take a kernel away that :func:`register` added, or that an installed package brought.

    Parameters
    ----------
    variant : Variant
        It is found by backend, primitive and name. Plans and calls that were made with it keep it.

    Raises
    ------
    RegistryError
        When it is not registered, or is one of gpuprims' own.

    Examples
    --------
    >>> import gpuprims
    >>> from gpuprims.registry import REGISTRY
    >>> gpuprims.unregister(REGISTRY.variants("map", "reference")[0])
    Traceback (most recent call last):
    ...
    gpuprims.errors.RegistryError: reference map/numpy: a variant from outside gpuprims; got one of its own
    """
    REGISTRY.unregister(variant)
