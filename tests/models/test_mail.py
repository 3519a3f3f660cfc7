"""Labelled texts that are read or generated."""

from __future__ import annotations

import re

import pytest

from gpuprims.errors import ArgumentError
from gpuprims.models import generated_mail, read_mail


def test_a_file_is_read_line_by_line(tmp_path):
    path = tmp_path / "mail.tsv"
    path.write_bytes("\ufeffham\t naïve\tcafé \t\t\r\n spam \tfree \N{LINE SEPARATOR} 你好\nham\t".encode())
    mail = read_mail(path)
    assert mail.labels.tolist() == ["ham", "spam", "ham"]
    assert mail.texts == ("naïve\tcafé", "free \N{LINE SEPARATOR} 你好", "")
    assert read_mail(str(path)).texts == mail.texts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"ham\ta\nspam b\n", "line 2: a label, a tab and a text; got no tab in 'spam b'"),
        (b"ham\ta\n\nspam\tb", "line 2: a label, a tab and a text; got no tab in ''"),
        (b"ham\ta\n \tb\n", "line 2: a label before the tab; got ' '"),
        (b"ham\ta\nspam\tb\nham\tc\njunk\td\n", "line 4: one of two labels, 'ham' and 'spam'; got 'junk'"),
        (b"ham\ta\nspam\tcaf\xe9\n", r"line 2: text in UTF-8; got b'\xe9'"),
        (b"ham\ta\nham\tb\n", "lines with two labels; got only 'ham'"),
        (b"", "lines with two labels; got no lines"),
    ],
)
def test_a_file_of_another_form_is_refused_where_it_is_wrong(tmp_path, content, message):
    path = tmp_path / "mail.tsv"
    path.write_bytes(content)
    with pytest.raises(ArgumentError, match=re.escape(f"{path}") + ",? ?.*" + re.escape(message)):
        read_mail(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ArgumentError, match=r"mail: a readable file; got .*nowhere.tsv' \(No such file"):
        read_mail(tmp_path / "nowhere.tsv")


def test_generated_mail_has_its_share_of_spam_and_comes_again():
    mail, again, other = generated_mail(200, spam_share=0.25), generated_mail(200, spam_share=0.25), generated_mail(200)
    assert (mail.labels == "spam").sum() == 50
    assert len(mail.texts) == len(set(mail.texts)) == 200
    assert (mail.texts, mail.labels.tolist()) == (again.texts, again.labels.tolist())
    assert other.texts != generated_mail(200, seed=1).texts
    assert 0 < (mail.labels[:100] == "spam").sum() < 50  # in no order


@pytest.mark.parametrize(("documents", "share", "got"), [(1, 0.5, 0), (10, 0.0, 0), (10, 1.0, 10), (10, 1.5, 15)])
def test_mail_of_one_label_is_not_generated(documents, share, got):
    with pytest.raises(ArgumentError, match=f"documents of both labels; got {got} spam of {documents}"):
        generated_mail(documents, spam_share=share)
