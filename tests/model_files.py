"""Make model files for attacks: archives made by hand, and random mutations of good ones.

``python -m model_files COUNT [SEED]``, from the folder of this file, tries so many mutations.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import tracemalloc
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuprims.errors import ModelFileError
from gpuprims.models import LogReg, SpamFilter
from gpuprims.models.spam import text_features

Members = dict[str, bytes]


def saved_filter(path: Path) -> SpamFilter:
    """Write a small spam filter, and return it."""
    texts = ["win a prize!", "free prize!", "lunch at noon?", "see you at home"]
    model = LogReg("reference").fit(text_features(texts, 16, device="reference"), ["spam", "spam", "ham", "ham"])
    made = SpamFilter(model, 16, 0.5, device="reference")
    made.save(path)
    return made


def saved_model(path: Path, classes: int = 3) -> LogReg:
    """Write a small model, and return it."""
    rng = np.random.default_rng(classes)
    model = LogReg("reference").fit(rng.standard_normal((60, 4)), np.arange(60) % classes)
    model.save(path)
    return model


def refused(path: Path, reason: str, kind: Any = LogReg) -> None:
    """Check that loading raises ModelFileError with path and reason before it takes much memory."""
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=reason) as caught:
            kind.load(path)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(
        f"{kind.__name__}.load: a file that {kind.__name__}.save wrote; got {str(path)!r}"
    )


def members_of(path: Path) -> Members:
    """Return the bytes of each member."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, members: Members, compression: int = zipfile.ZIP_STORED) -> Path:
    """Write members to an archive whose checksums are right."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def as_npy(array: Any) -> bytes:
    """Return an array as np.save writes it."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def told(members: Members, name: str = "model.npy") -> dict[str, Any]:
    """Return the object of JSON that a member holds."""
    found: dict[str, Any] = json.loads(np.load(io.BytesIO(members[name])).item())
    return found


def telling(members: Members, changes: dict[str, Any], name: str = "model.npy") -> Members:
    """Return members with changed keys in one JSON text; None leaves a key out."""
    changed = {key: value for key, value in {**told(members, name), **changes}.items() if value is not ...}
    return {**members, name: as_npy(np.array(json.dumps(changed)))}


# Random mutations ----------------------------------------------------------------------------------------------------


def flip(rng: np.random.Generator, raw: bytes) -> bytes:
    """Change some bytes."""
    data = bytearray(raw)
    for at in rng.integers(0, len(data), rng.integers(1, 9)):
        data[at] = int(rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.integers(256)]))
    return bytes(data)


def cut(rng: np.random.Generator, raw: bytes) -> bytes:
    """Leave out a stretch, or all that follows."""
    start, stop = np.sort(rng.integers(0, len(raw), 2))
    return raw[:start] + (raw[stop:] if rng.random() < 0.5 else b"")


def paste(rng: np.random.Generator, raw: bytes) -> bytes:
    """Put a stretch of the same bytes, or random ones, at another place."""
    start, stop, at = *np.sort(rng.integers(0, len(raw), 2)), rng.integers(0, len(raw))
    piece = raw[start:stop] if rng.random() < 0.5 else rng.bytes(int(rng.integers(1, 400)))
    return raw[:at] + piece + raw[at if rng.random() < 0.5 else min(at + len(piece), len(raw)) :]


def number(rng: np.random.Generator, raw: bytes) -> bytes:
    """Put a number at the edge of its range where another one is."""
    at, size = int(rng.integers(0, len(raw))), int(rng.choice([2, 4, 8]))
    value = int(rng.choice([0, 1, 2 ** (8 * size - 1) - 1])) if rng.random() < 0.5 else 2 ** (8 * size) - 1
    return raw[:at] + value.to_bytes(size, "little") + raw[at + size :]


def other_array(rng: np.random.Generator, raw: bytes) -> bytes:
    """Replace an array; its header may not fit its bytes."""
    shapes = [(), (0,), (1,), (2,), (3,), (1, 4), (3, 4), (7, 4), (1, 0), (2, 16)]
    shape = shapes[rng.integers(len(shapes))]
    with np.errstate(invalid="ignore"):
        values = rng.choice([0.0, 1.0, np.nan, np.inf], shape)
        data = as_npy(values.astype(rng.choice(["f4", "f8", "i8", "U3", "?", "c8"])))
    claims = [b"9" * 18, b"-1", b"2", b"0"]
    return data.replace(b", 4)", b", " + claims[rng.integers(len(claims))] + b")") if rng.random() < 0.5 else data


def other_text(rng: np.random.Generator, raw: bytes) -> bytes:
    """Change a value of a JSON text."""
    tree: dict[str, Any] = json.loads(np.load(io.BytesIO(raw)).item())
    where = tree["parameters"] if "parameters" in tree and rng.random() < 0.5 else tree
    key = str(rng.choice(list(where)))
    values = [None, -1, 2**70, 1e308, float("nan"), True, "", "x" * 5000, [], [[1, 2]], {}, {"a": [None]}, ["a"] * 4]
    where[key] = values[rng.integers(len(values))]
    changed = json.dumps(tree)
    if rng.random() < 0.1:
        changed = "[" * 100_000
    return as_npy(np.array(changed))


RAW, WITHIN = (flip, cut, paste, number), (flip, cut, number, other_array)
TEXTS = ("model.npy", "spam_filter.npy")


def mutated(rng: np.random.Generator, path: Path, raw: bytes, members: Members) -> None:
    """Write a mutation of a good file: of its bytes, or of members whose checksums are right again."""
    if rng.random() < 0.5:
        for _ in range(rng.integers(1, 4)):
            raw = RAW[rng.integers(len(RAW))](rng, raw) or b"\0"
        path.write_bytes(raw)
        return
    changed = dict(members)
    for _ in range(rng.integers(1, 3)):
        name = str(rng.choice(list(changed)))
        text = name in TEXTS and changed[name] == members[name] and rng.random() < 0.5
        change = other_text if text else WITHIN[rng.integers(len(WITHIN))]
        changed[name] = change(rng, changed[name]) or b"\0"
    if rng.random() < 0.1:
        changed.pop(str(rng.choice(list(changed))))
    if rng.random() < 0.1:
        changed["more.npy"] = as_npy(np.zeros(3))
    write(path, changed, zipfile.ZIP_DEFLATED if rng.random() < 0.1 else zipfile.ZIP_STORED)


def fuzz_model_files(count: int, seed: int, folder: Path) -> Counter[str]:
    """Load mutations of model files: each is refused by ModelFileError, or predicts finite probabilities.

    Anything else raises. No load takes more memory than 64 times the file and a megabyte.

    Returns
    -------
    Counter of str
        How many were "refused" and "loaded".
    """
    rng, seen, path = np.random.default_rng(seed), Counter[str](), folder / "mutated.npz"
    saved_model(folder / "model.npz")
    saved_filter(folder / "filter.npz")
    kinds: list[Any] = [(LogReg, folder / "model.npz"), (SpamFilter, folder / "filter.npz")]
    good = [(kind, one.read_bytes(), members_of(one)) for kind, one in kinds]
    tracemalloc.start()
    try:
        for _ in range(count):
            kind, raw, members = good[rng.integers(len(good))]
            mutated(rng, path, raw, members)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            seen[_tried(kind, path)] += 1
            taken = tracemalloc.get_traced_memory()[1] - before
            assert taken < 64 * path.stat().st_size + 2**20, f"{taken:,} bytes for {path.stat().st_size:,}"
    finally:
        tracemalloc.stop()
    return seen


def _tried(kind: Any, path: Path) -> str:
    try:
        loaded = kind.load(path)
    except ModelFileError as error:
        return "refused" if str(path) in str(error) else "refused without the path"
    model = (loaded.model if kind is SpamFilter else loaded).set_params(backend="reference")
    with np.errstate(over="ignore", invalid="ignore"):  # of finite weights near the end of their range
        chances = model.predict_proba(np.zeros((2, model.n_features_in_)))
    assert np.isfinite(chances).all() or np.abs(model.intercept_).max() > 1e30
    assert set(model.predict(np.zeros((1, model.n_features_in_)))) <= set(model.classes_)
    return "loaded"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(fuzz_model_files(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, Path(made)))
