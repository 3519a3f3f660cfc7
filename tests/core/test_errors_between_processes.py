"""Exceptions cross the border of a process, as those of a worker do."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from gpuprims import errors

OWN = [one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, errors.GpuprimsError)]
SPECIAL = (
    errors.DeviceMemoryError("cuda:0", 2048, 1024, 512),
    errors.ShardError("reduce", 1, 2, "cuda:1", "no room"),
    errors.BackendUnavailableError("cuda", "no driver", "install it"),
    errors.MissingExtraError("models", "scikit-learn", ImportError("none", name="sklearn"), "models"),
    errors.StreamError(3, " rows", "file.npy", "noise"),
    errors.LazyArrayError("sort", "dask"),
)


@pytest.mark.parametrize("error", [*SPECIAL, *(one("a message") for one in OWN if one not in {*map(type, SPECIAL)})])
def test_pickled_and_copied(error: errors.GpuprimsError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):  # noqa: S301 - our own
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)
        if isinstance(error, ImportError):
            assert again.name == error.name
