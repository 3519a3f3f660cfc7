"""Help, shell completion, and what commands share: numbers, tables and progress."""

from __future__ import annotations

import argparse
import io
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuprims.cli import main as cli
from gpuprims.cli import terminal
from gpuprims.cli.arguments import count, positive


def parsers(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Return the words and the help of each command and of its own commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield (*words, name), inner.format_help()
                yield from parsers(inner, (*words, name))


def test_the_command_alone_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    shown = capsys.readouterr().out
    for command in cli.COMMANDS:
        assert re.search(rf"^    {command} +\w", shown, re.MULTILINE)
    for status in (0, 1, 2, terminal.INTERRUPTED, terminal.BROKEN_PIPE):
        assert re.search(rf"^  {status} +\w", shown, re.MULTILINE)


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_every_help_says_what_it_does_with_examples_that_parse(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    found = dict(parsers(cli.parser()))
    assert {words[0] for words in found} == set(cli.COMMANDS)
    for words, text in found.items():
        about = text.split("\n\n")[1]
        assert re.match(r"[A-Z].*\.", about, re.DOTALL), words
        assert max(map(len, text.splitlines())) <= min(columns, 100), words
        examples = re.findall(r"^  (gpuprims .*?)(?: [<>].*)?$", text, re.MULTILINE)
        assert examples or words == ("completion",), words
        for example in examples:
            cli.parser().parse_args(shlex.split(example)[1:])


def test_every_option_tells_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    text = dict(parsers(cli.parser()))[("explain",)]
    for default in ("2^20", "float32", "sum", "256", "all", "the"):
        assert re.search(rf"\(default:\s+{re.escape(default)}", text), default


@pytest.mark.parametrize(
    ("text", "number"), [("4096", 4096), ("2^20", 2**20), ("1e6", 10**6), ("1.5E3", 1500), ("1_000", 1000), ("-5", -5)]
)
def test_numbers_are_written_as_people_do(text: str, number: int) -> None:
    assert count(text) == number


@pytest.mark.parametrize("text", ["many", "1.5", "2^64", "9^99", "1e99", "", "2^-1", "nan", "0x10", "2**3"])
def test_other_texts_are_no_numbers(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"a whole number such as 4096, 2\^20 or 1e6; got"):
        count(text)
    with pytest.raises(SystemExit) as ended:
        cli.main(["explain", f"--size={text}"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("gpuprims: argument --size: a whole number")
    assert said.endswith("See gpuprims explain --help\n")


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "long", ""])
def test_durations_are_positive_numbers(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert positive("2.5") == 2.5
    with pytest.raises(SystemExit) as ended:
        cli.main(["tune", f"--seconds={text}"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"gpuprims: argument --seconds: a positive number; got {text!r}\n")


# Completion

COMPLETED = {
    "gpuprims expl": "explain",
    "gpuprims explain hist": "histogram",
    "gpuprims explain --side": "--side-by-side",
    "gpuprims explain --device refer": "reference",
    "gpuprims explain --op sum segs": "segscan",
    "gpuprims kernels sh": "show",
    "gpuprims kernels show --wa": "--warp",
    "gpuprims tune --primitive ste": "stencil",
    "gpuprims completion fi": "fish",
}


def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert cli.main(["completion", shell]) == 0
    path = folder / shell
    path.write_text(capsys.readouterr().out)
    return path


def needs(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    return found


def test_bash_completes_commands_options_and_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"source {script('bash', tmp_path, capsys)}"]
    for typed in COMPLETED:
        words = typed.split()
        lines.append(f'COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _gpuprims; echo "${{COMPREPLY[@]}}"')
    done = subprocess.run([needs("bash"), "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == list(COMPLETED.values())


def test_fish_completes_commands_options_and_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"source {script('fish', tmp_path, capsys)}", *(f'complete -C "{typed}"' for typed in COMPLETED)]
    done = subprocess.run([needs("fish"), "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert [line.partition("\t")[0] for line in done.stdout.splitlines()] == list(COMPLETED.values())


def test_zsh_reads_its_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script("zsh", tmp_path, capsys)
    subprocess.run([needs("zsh"), "-n", str(path)], check=True)
    assert "'--side-by-side:neighbouring outputs" in path.read_text()


# Tables and progress


def test_a_table_fits_a_terminal_and_is_whole_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("chosen", "word " * 30, "9"), ("[bold]", "short", "100")]
    made = terminal.table(("a", "b", "c"), rows, right=("c",), cut=("b",))
    terminal.show("before", made)
    shown = capsys.readouterr().out
    assert shown.splitlines()[2] == f"chosen  {('word ' * 30):150}    9"
    assert shown.splitlines()[3].startswith("[bold]  short ")
    assert "\x1b" not in shown
    monkeypatch.setenv("COLUMNS", "40")
    terminal.show(made)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 40
    assert lines[1].startswith("chosen  word word")
    assert "…" in lines[1]
    folded = terminal.table(("a", "b", "c"), rows, fold=("b",))
    terminal.show(folded)
    assert len(capsys.readouterr().out.splitlines()) > 5


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    made = terminal.table(("a",), [("chosen",)])
    monkeypatch.setenv("TERM", "xterm")
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    terminal.show(made)
    assert "\x1b[32mchosen" in shown.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.show(made)
    assert shown.getvalue().count("\x1b[32m") == 1


def test_progress_has_the_time_left_and_leaves_a_clean_line(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([100.0, 100.0, 130.0])
    monkeypatch.setattr("gpuprims.cli.terminal.time.monotonic", lambda: next(moments))
    monkeypatch.setenv("TERM", "xterm")
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    with terminal.progress(4) as tell:
        tell(0, "scan sum")
        assert " left" not in shown.getvalue()
        tell(1, "map [2*x+1]")
        assert "1:30 left" in shown.getvalue()
        assert "map [2*x+1]" in shown.getvalue()
    assert shown.getvalue().endswith("\r\x1b[K")
    piped = io.StringIO()
    monkeypatch.setattr(sys, "stderr", piped)
    moments = iter([0.0])
    with terminal.progress(4) as tell:
        tell(1, "scan sum")
    assert piped.getvalue() == ""
