"""Read the imports of the package, and draw its floors in CONTRIBUTING: ``python -m tests.import_map``."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "gpuprims"
PAGE = PACKAGE.parent / "CONTRIBUTING.md"
BEGIN, END = "<!-- floors: python -m tests.import_map -->", "<!-- end of floors -->"
# From the top down; a room imports from its own floor and from those below.
FLOORS = (
    ("__main__", "cli"),
    ("tuning", "testing", "profiling"),
    ("distributed",),
    ("models", "ndimage", "torch", "xp", "datasets"),
    ("primitives",),
    ("backends",),
    ("core",),
    ("operators",),
    ("expressions",),
    ("errors",),
)
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}


@cache
def imports(module: str, *, top_level: bool = False) -> tuple[str, ...]:
    """Return the full names of what a module imports, in functions and for type checkers too."""
    tree = ast.parse(MODULES[module].read_text())
    found: list[str] = []
    for node in tree.body if top_level else ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.append(inner if inner in MODULES else node.module)
    return tuple(dict.fromkeys(found))


def own_imports(module: str) -> list[str]:
    """Return the modules of the package that a module imports."""
    return [name for name in imports(module) if name in MODULES and name != "gpuprims"]


def room(module: str) -> str:
    """Return the module or package at the top of ``gpuprims`` that a module belongs to."""
    return module.split(".")[1]


def floor(module: str) -> int:
    """Return a module's floor, counted from the ground."""
    return next(level for level, rooms in enumerate(reversed(FLOORS)) if room(module) in rooms)


def circle() -> list[str]:
    """Return modules that import each other in a circle, or nothing."""
    done: set[str] = set()
    path: list[str] = []

    def visit(module: str) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        path.append(module)
        for name in own_imports(module):
            if found := visit(name):
                return found
        path.pop()
        done.add(module)
        return []

    return next((found for module in MODULES if module != "gpuprims" and (found := visit(module))), [])


def drawing() -> str:
    """Return the floors as text: each room with its modules, lines and the rooms that it imports."""
    lines = ["```"]
    for rooms in FLOORS:
        for name in rooms:
            modules = [module for module in MODULES if module != "gpuprims" and room(module) == name]
            if not modules:
                continue
            below = {room(found) for module in modules for found in own_imports(module)} - {name}
            order = [other for others in FLOORS for other in others if other in below]
            files = "1 file " if len(modules) == 1 else f"{len(modules)} files"
            lines.append(f"{name:12}{files:>10}  {'imports ' + ', '.join(order) if order else ''}".rstrip())
    return "\n".join([*lines, "```"])


def drawn(page: str) -> str:
    """Return a page with the drawing between its marks."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{drawing()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text()))
    print(drawing())
