"""Damaged and hostile archives are refused before they are read."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import model_files as made
import numpy as np
import pytest
from model_files import refused

from gpuprims.models import LogReg, SpamFilter, archives


@pytest.mark.parametrize("kind", [LogReg, SpamFilter])
def test_what_is_no_file_of_ones_own(tmp_path: Path, spam_file: Path, kind: Any) -> None:
    (tmp_path / "folder.npz").mkdir()
    refused(tmp_path / "folder.npz", "Is a directory", kind)
    refused(spam_file / "below.npz", "Not a directory", kind)
    refused(tmp_path / ("x" * 300 + ".npz"), "File name too long", kind)
    refused(spam_file.rename(tmp_path / "filter.bin"), r"does not end in \.npz", kind)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npz"):
        kind.load(tmp_path / "nowhere.npz")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")
def test_a_fifo_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.npz")
    refused(tmp_path / "fifo.npz", "not a regular file")


def test_a_file_that_may_not_be_read(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: Any) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(archives.os, "open", forbid)  # root may read every file
    refused(model, "Permission denied")


@pytest.mark.parametrize("kind", [LogReg, SpamFilter])
def test_what_is_no_archive(tmp_path: Path, spam_file: Path, kind: Any) -> None:
    whole = spam_file.read_bytes()
    files = {
        "empty": (b"", "not a zip file"),
        "text": (b"no archive" * 50, "not a zip file"),
        "random": (np.random.default_rng(0).bytes(5000), "not a zip file"),
        "array": (made.as_npy(np.zeros(30)), "not a zip file"),
        "cut": (whole[:-100], "not a zip file"),
        "longer": (whole + b"\0", "not a zip file"),
        "before": (b"\0" * 100 + whole, "does not begin where the member before it ends"),
    }
    for name, (content, reason) in files.items():
        path = tmp_path / f"{name}.npz"
        path.write_bytes(content)
        refused(path, reason, kind)


def test_a_bit_that_is_not_as_it_was_written(model: Path) -> None:
    raw = bytearray(model.read_bytes())
    raw[raw.index(b"\n", raw.index(b"coef_.npy")) + 7] ^= 1  # in its first element
    model.write_bytes(raw)
    refused(model, "Bad CRC-32")


def test_an_archive_that_expands_is_refused_before_it_is_read(model: Path) -> None:
    members = made.members_of(model)
    zeros = io.BytesIO()
    np.lib.format.write_array_header_1_0(zeros, {"descr": "<f8", "fortran_order": False, "shape": (3, 1 << 25)})
    with zipfile.ZipFile(model, "w", zipfile.ZIP_DEFLATED) as archive:  # 256 MiB in 300 KB
        for name, data in members.items():
            with archive.open(name, "w") as member:
                member.write(zeros.getvalue() if name == "coef_.npy" else data)
                for _ in range(256 if name == "coef_.npy" else 0):
                    member.write(b"\0" * (1 << 20))
    assert model.stat().st_size < 1 << 20
    refused(model, "is compressed, from [0-9,]+ bytes to")


def directory(raw: bytes, field: int, fmt: str, value: int, member: int = 1) -> bytes:
    """Change a number in the directory's record of a member."""
    data, at = bytearray(raw), -1
    for _ in range(member + 1):
        at = raw.index(b"PK\1\2", at + 1)
    struct.pack_into(fmt, data, at + field, value)
    return bytes(data)


def lengths(raw: bytes, length: int) -> bytes:
    return directory(directory(raw, 20, "<I", length), 24, "<I", length)


DIRECTORY = {
    "a length that is not there": (lambda raw: lengths(raw, 1 << 30), "larger"),
    "a length to unpack": (lambda raw: directory(raw, 24, "<I", 3 << 29), "is compressed, from 1,610,612,736 bytes"),
    "two members in one place": (lambda raw: directory(raw, 42, "<I", 0), "does not begin where"),
    "encryption": (lambda raw: directory(raw, 8, "<H", 1), "is encrypted"),
    "an unknown compression": (lambda raw: directory(raw, 10, "<H", 99), "is compressed"),
    "a version of the far future": (lambda raw: directory(raw, 6, "<H", 255), "zip file version"),
    "another name than before the member": (lambda raw: raw.replace(b"coef_.npy", b"coef!.npy", 1), "differ"),
    "no member where the directory says": (lambda raw: raw.replace(b"PK\3\4", b"PK\3\5", 1), "magic number"),
    "64-bit lengths that are not there": (lambda raw: lengths(raw, 0xFFFFFFFF), "[Cc]orrupt|zip64|larger"),
    "more members than there are": (lambda raw: raw[:-12] + struct.pack("<H", 9999) + raw[-10:], "9,999 members"),
    "a directory larger than the file": (lambda raw: raw[:-10] + struct.pack("<I", 1 << 31) + raw[-6:], "in 2,147,"),
    "a directory elsewhere": (lambda raw: raw[:-6] + struct.pack("<I", 4) + raw[-2:], "does not begin where"),
    "a comment": (lambda raw: raw[:-2] + b"\5\0hello", "not a zip file"),
}  # fmt: skip


@pytest.mark.parametrize("lie", DIRECTORY)
def test_a_directory_that_lies(model: Path, lie: str) -> None:
    change, reason = DIRECTORY[lie]
    raw = model.read_bytes()
    model.write_bytes(change(raw))
    refused(model, reason)


@pytest.mark.parametrize(
    ("count", "reason"), [(5, "its end record is in the wrong place"), (1 << 40, "1,099,511,627,776 members")]
)
def test_a_64_bit_directory_that_lies(model: Path, count: int, reason: str) -> None:
    raw = model.read_bytes()
    end64 = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, 200, 0)
    where = len(raw) - 22 if count > 5 else 7
    model.write_bytes(raw[:-22] + end64 + struct.pack("<4sLQL", b"PK\6\7", 0, where, 1) + raw[-22:])
    refused(model, reason)


def test_a_64_bit_directory_that_is_right(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members, before = made.members_of(model), LogReg.load(model).coef_
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    made.write(model, members)
    assert b"PK\6\7" in model.read_bytes()
    np.testing.assert_array_equal(LogReg.load(model).coef_, before)


def test_two_members_of_one_name(model: Path) -> None:
    with zipfile.ZipFile(model, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("coef_.npy", b"")
    refused(model, "two members with one name")


def test_members_that_are_not_next_to_each_other(model: Path) -> None:
    raw = model.read_bytes()
    start = struct.unpack_from("<I", raw, len(raw) - 6)[0]
    model.write_bytes(raw[:start] + b"hidden" + raw[start:-6] + struct.pack("<I", start + 6) + raw[-2:])
    refused(model, "bytes between the last member and the directory")
