"""Objects that belong to the process that made them."""

from __future__ import annotations

from typing import NoReturn, Self

from gpuprims.errors import UnpicklableError


class OfThisProcess:
    """Base of objects that cannot be pickled; ``_unpickled`` is the name of one, and what to write instead.

    Such an object does not change after it was made, so a copy is the object itself.
    """

    @property
    def _unpickled(self) -> tuple[str, str]:
        raise NotImplementedError

    def __reduce__(self) -> NoReturn:
        label, instead = self._unpickled
        raise UnpicklableError(f"{label}: use in the process that made it; got a pickle ({instead})")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self
