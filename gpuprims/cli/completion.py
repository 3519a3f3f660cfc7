"""``gpuprims completion``: print a script that completes commands, options and their values in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from gpuprims.cli.arguments import Subparsers, add_command

_ABOUT = """\
The script knows the commands and options of this version; print it again after an update."""
_EXAMPLES = [
    ('eval "$(gpuprims completion bash)"', "in ~/.bashrc"),
    ('eval "$(gpuprims completion zsh)"', "in ~/.zshrc, after compinit"),
    ("gpuprims completion fish > ~/.config/fish/completions/gpuprims.fish", ""),
]


class Word(NamedTuple):
    """A command, option or value that completes a line, with a short description."""

    text: str
    about: str


class Place(NamedTuple):
    """What may follow some words: commands, values and options, and the values of options, or None for a file."""

    words: tuple[str, ...]
    next: list[Word]
    values: Mapping[str, tuple[str, ...] | None]


def add_parser(commands: Subparsers) -> None:
    """Add the command; it completes all commands that are added to ``commands``."""
    parser = add_command(commands, "completion", "print a script for completion in a shell", about=_ABOUT,
                         examples=_EXAMPLES)  # fmt: skip
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(commands=commands)


def run(chosen: argparse.Namespace) -> int:
    """Print the script."""
    known: Subparsers = chosen.commands
    start = [*_commands(known), Word("--help", "show help"), Word("--version", "show the version")]
    places = [Place((), start, {})]
    for name, parser in known.choices.items():
        places += _places((name,), parser)
    print("\n".join(SHELLS[chosen.shell](places)))
    return 0


def _commands(known: Subparsers) -> list[Word]:
    return [Word(str(one.dest), one.help or "") for one in known._choices_actions]


def _places(words: tuple[str, ...], parser: argparse.ArgumentParser) -> Iterator[Place]:
    """Return the completions of a command, and those of its own commands if it has some."""
    following: list[Word] = []
    values: dict[str, tuple[str, ...] | None] = {}
    for action in parser._actions:
        about = (action.help or "").partition(" (default")[0]
        choices = tuple(map(str, action.choices or ()))
        if isinstance(action, argparse._SubParsersAction):
            following += _commands(action)
            for name, inner in action.choices.items():
                yield from _places((*words, name), inner)
        elif not action.option_strings:
            following += [Word(choice, "") for choice in choices]
        else:
            following += [Word(option, about) for option in action.option_strings]
            if action.nargs != 0:
                values |= dict.fromkeys(action.option_strings, _values_of(action, choices))
    yield Place(words, following, values)


def _values_of(action: argparse.Action, choices: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the values of an option; None: the name of a file."""
    if action.dest == "device":
        return "cuda", "opencl", "gpu", "cpu", "reference"  # without colons, at which bash splits words
    return None if action.dest in ("out", "report", "compare", "save", "load") else choices


def _bash(places: list[Place]) -> Iterator[str]:
    """Complete by the commands before the cursor, and by the option that the cursor follows."""
    yield "_gpuprims() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" place="" one'
    yield '  for one in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield f'    case "$place $one" in {_alternatives(places)}) place="$place $one" ;; esac'
    yield "  done"
    yield "  COMPREPLY=()"
    yield '  case "$place $before" in'
    for values, options in _by_values(places):
        how = "-f" if values is None else f"-W '{' '.join(values)}'"
        yield f"""    {options}) COMPREPLY=($(compgen {how} -- "$word")); return ;;"""
    yield "  esac"
    yield '  case "$place" in'
    for place in places:
        words = " ".join(word.text for word in place.next)
        yield f"""    '{_joined(place.words)}') COMPREPLY=($(compgen -W '{words}' -- "$word")) ;;"""
    yield "  esac"
    yield "}"
    yield "complete -o default -F _gpuprims gpuprims"


def _zsh(places: list[Place]) -> Iterator[str]:
    """Complete as in bash, with descriptions."""
    yield "#compdef gpuprims"
    yield "_gpuprims() {"
    yield '  local before="${words[CURRENT-1]}" place="" one'
    yield "  local -a known"
    yield '  for one in "${(@)words[2,CURRENT-1]}"; do'
    yield f'    case "$place $one" in ({_alternatives(places)}) place="$place $one" ;; esac'
    yield "  done"
    yield '  case "$place $before" in'
    for values, options in _by_values(places):
        how = "_files" if values is None else f"compadd -- {' '.join(values)}"
        yield f"    ({options}) {how}; return ;;"
    yield "  esac"
    yield '  case "$place" in'
    for place in places:
        known = " ".join(_quoted(f"{word.text}:{word.about}") for word in place.next)
        yield f"    ('{_joined(place.words)}') known=({known}) ;;"
    yield "  esac"
    yield "  _describe gpuprims known || _files"
    yield "}"
    yield "compdef _gpuprims gpuprims"


def _fish(places: list[Place]) -> Iterator[str]:
    """Complete each word under the commands that it belongs to."""
    yield "complete -c gpuprims -e"
    for place in places:
        seen = [f"__fish_seen_subcommand_from {word}" for word in place.words]
        when = _quoted("; and ".join(seen) if seen else "__fish_use_subcommand")
        for word in place.next:
            about = f" -d {_quoted(word.about)}" if word.about else ""
            if not word.text.startswith("-"):
                yield f"complete -c gpuprims -f -n {when} -a {word.text}{about}"
                continue
            flag = f"-l {word.text[2:]}" if word.text.startswith("--") else f"-s {word.text[1:]}"
            values = place.values.get(word.text, ()) if word.text in place.values else None
            files = word.text in place.values and values is None
            more = " -r -F" if files else f" -x -a {_quoted(' '.join(values))}" if values is not None else ""
            yield f"complete -c gpuprims -n {when} {flag}{more}{about}"


def _by_values(places: list[Place]) -> Iterator[tuple[tuple[str, ...] | None, str]]:
    """Return each set of values, with the options that take it as patterns of a shell."""
    options: dict[tuple[str, ...] | None, list[str]] = {}
    for place in places:
        for option, values in place.values.items():
            options.setdefault(values, []).append(f"'{_joined(place.words)} {option}'")
    return ((values, "|".join(known)) for values, known in options.items())


def _alternatives(places: list[Place]) -> str:
    """Return the places other than the first as patterns of a shell."""
    return "|".join(f"'{_joined(place.words)}'" for place in places if place.words)


def _joined(words: tuple[str, ...]) -> str:
    return "".join(f" {word}" for word in words)


def _quoted(text: str) -> str:
    """Quote a text for a shell."""
    return "'" + text.replace("\\", "\\\\").replace("'", "'\\''") + "'"


SHELLS: Mapping[str, Callable[[list[Place]], Iterator[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
