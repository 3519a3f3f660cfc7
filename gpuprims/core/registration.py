"""``register`` and ``unregister``: kernels from outside."""

from __future__ import annotations

from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant


def register(variant: Variant) -> None:
    """Add a kernel to those that gpuprims chooses from.

    Parameters
    ----------
    variant : Variant
        Installed packages name theirs under the entry point ``gpuprims.kernels.<backend>`` instead.

    Raises
    ------
    RegistryError
        Its name or rank is taken, a field has another type or is out of range, its primitive is unknown, or its kernel
        file is missing or lacks the function :attr:`Variant.entry`.
    UnknownDeviceError, BackendUnavailableError
        Its backend is unknown, or comes from an installed package that fails.

    See Also
    --------
    unregister : Remove it.

    Examples
    --------
    >>> import dataclasses, gpuprims
    >>> from gpuprims.core.registry import REGISTRY
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
    """Remove a kernel that :func:`register` added or that an installed package provides.

    Parameters
    ----------
    variant : Variant
        Its backend, primitive and name identify it. Plans that use it keep it.

    Raises
    ------
    RegistryError
        It is not registered, or is one of gpuprims' own.

    Examples
    --------
    >>> import gpuprims
    >>> from gpuprims.core.registry import REGISTRY
    >>> gpuprims.unregister(REGISTRY.variants("map", "reference")[0])
    Traceback (most recent call last):
    ...
    gpuprims.errors.RegistryError: reference map/numpy: a variant from outside gpuprims; got one of its own
    """
    REGISTRY.unregister(variant)
