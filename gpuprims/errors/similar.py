"""Names that are close to a wrong one, for messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress


def did_you_mean(given: object, known: Iterable[str], instead: Mapping[str, str] | None = None) -> str:
    """Return the end of a message, with the names that a wrong one is close to; an empty text if there are none.

    Parameters
    ----------
    given : object
        The wrong name, or a function or class of that name.
    known : iterable of str
        The right names.
    instead : mapping, optional
        From names of other libraries, in lower case, to what to write here.

    Examples
    --------
    >>> did_you_mean("summ", ["sum", "prod"])
    " (did you mean 'sum'?)"
    >>> did_you_mean("average", ["sum", "mean"], {"average": "mean"})
    " (did you mean 'mean'?)"
    >>> did_you_mean("median", ["prod"])
    ''
    """
    import difflib  # here, because only messages need it

    name = given
    if not isinstance(given, str):
        with suppress(Exception):  # whatever the caller's object raises
            name = getattr(given, "__name__", None)
    if not isinstance(name, str) or len(name) > 80:
        return ""
    name = name.strip().lower()
    if instead and name in instead:
        found = [instead[name]]
    else:
        names = {one.lower(): one for one in known}
        near = [name] if name in names else difflib.get_close_matches(name, names, n=2, cutoff=0.65)
        found = [names[one] for one in near]
    return f" (did you mean {' or '.join(map(repr, found))}?)" if found else ""


def absent(
    module: str, name: str, known: Iterable[str], instead: Mapping[str, str] | None = None, advice: str = ""
) -> AttributeError:
    """Return the error for a name that a module lacks: with ``advice``, or with the known names that it is close to.

    Parameters
    ----------
    module, name : str
    known : iterable of str
        The names that the module has.
    instead : mapping, optional
        From names of other libraries, in lower case, to what to write here.
    advice : str, default ""
        The end of the message, as :func:`gpuprims.errors.names.advice_on` returns it.

    Examples
    --------
    >>> raise absent("gpuprims.models", "LogRegg", ["LogReg", "PCA"])
    Traceback (most recent call last):
    AttributeError: module 'gpuprims.models' has no attribute 'LogRegg' (did you mean 'LogReg'?)
    """
    # Tools look for names with underscores, such as protocols; these get no advice.
    hint = "" if name.startswith("_") else advice or did_you_mean(name, known, instead)
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)
