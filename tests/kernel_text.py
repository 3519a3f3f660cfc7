"""A kernel's generated text as a compiler sees it: without comments, inactive branches and unused macros."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_DEFINE = re.compile(r"#\s*define\s+(\w+)(\([^)]*\))?\s?(.*)", re.DOTALL)
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
# A float without the f that makes it single.
DOUBLE_LITERAL = re.compile(
    r"(?<![\w.])(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])|(?<![\w.])\d+[eE][-+]?\d+(?![\w.])"
)


def _lines(text: str) -> list[str]:
    """Return a text's lines without comments and strings, continued ones as one."""
    bare = _COMMENT.sub(lambda found: '""' if found[0].startswith('"') else " ", text.replace("\\\n", " "))
    return bare.split("\n")


def _true(condition: str, macros: dict[str, str]) -> bool:
    """Compute an ``#if``'s condition, in which unknown words are 0."""
    known = _DEFINED.sub(lambda found: str(int((found[1] or found[2]) in macros)), condition)
    for _ in range(20):  # macros of macros
        replaced = _WORD.sub(lambda found: f"({macros[found[0]]})" if macros.get(found[0]) else found[0], known)
        if replaced == known:
            break
        known = replaced
    casts = re.sub(r"\(\s*\(?(?:int|i64)\)?\s*\)", "", known)
    numbers = _WORD.sub(lambda found: "0" if found[0] not in ("and", "or", "not") else found[0], _as_python(casts))
    return bool(eval(numbers, {"__builtins__": {}}))  # noqa: S307 - numbers and operators, of this library's kernels


def _as_python(condition: str) -> str:
    words = condition.replace("&&", " and ").replace("||", " or ").replace("/", "//")
    return re.sub(r"!(?!=)", " not ", words)


def active_text(text: str, predefined: dict[str, str] | None = None) -> str:
    """Return the text that a compiler with these macros sees."""
    macros = dict(predefined or {})
    bodies: dict[str, str] = {}
    kept: list[str] = []
    taken: list[list[bool]] = []  # of each open #if: whether its branch is active, and whether one has been
    for line in _lines(text):
        stripped = line.strip()
        word, _, rest = stripped.removeprefix("#").strip().partition(" ")
        here = all(branch for branch, _ in taken)
        if not stripped.startswith("#"):
            kept += [line] if here else []
        elif word in ("if", "ifdef", "ifndef"):
            told = here and _holds(word, rest, macros)
            taken.append([told, told])
        elif word in ("elif", "else"):
            outside, last = all(branch for branch, _ in taken[:-1]), taken[-1]
            last[0] = outside and not last[1] and (word == "else" or _true(rest, macros))
            last[1] |= last[0]
        elif word == "endif":
            taken.pop()
        elif here and (found := _DEFINE.match(stripped)):
            macros[found[1]] = "" if found[2] else found[3].strip()
            bodies[found[1]] = found[3]
        elif here and word == "undef":
            macros.pop(rest.strip(), None)
    return "\n".join([*kept, *_used("\n".join(kept), bodies)])


def _holds(word: str, rest: str, macros: dict[str, str]) -> bool:
    if word == "if":
        return _true(rest, macros)
    return (rest.split()[0] in macros) == (word == "ifdef")


def _used(text: str, bodies: dict[str, str]) -> list[str]:
    """Return the bodies of the macros that a text uses, and of those that they use."""
    used: set[str] = set()
    wanted = set(_WORD.findall(text)) & bodies.keys()
    while wanted:
        used |= wanted
        wanted = {word for name in wanted for word in _WORD.findall(bodies[name])} & bodies.keys() - used
    return [bodies[name] for name in sorted(used)]
