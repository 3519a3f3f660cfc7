"""Draw the pictures of the primitives: ``python docs/tools/drawings.py`` writes them to docs/pictures.

The numbers in the pictures are computed here. Files are SVG and follow light and dark by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "pictures"
STYLE = """<style>
svg.gp { --ink: #22272e; --soft: #68707a; --in: #d6e6fb; --out: #d3efd9; --part: #fbe9c6; --off: #eceef0 }
@media (prefers-color-scheme: dark) { svg.gp { --ink: #e6e9ec; --soft: #a0a8b2; --in: #1f4370; --out: #1d5230;\
 --part: #63490f; --off: #30363d } }
.gp text { fill: var(--ink); font: 15px system-ui, sans-serif; text-anchor: middle; dominant-baseline: central }
.gp .word { fill: var(--soft); font-size: 13px; text-anchor: start }
.gp .code { font: 13px ui-monospace, monospace }
.gp line, .gp path { stroke: var(--soft); stroke-width: 1.3; fill: none }
.gp rect { stroke: var(--soft); stroke-width: 1; rx: 3 }
.gp .in { fill: var(--in) } .gp .out { fill: var(--out) } .gp .part { fill: var(--part) } .gp .off { fill: var(--off) }
</style>"""
WIDTH, CELL, LEFT = 480, 40, 76

Values = Sequence[object]


def box(x: float, y: float, value: object, kind: str, width: float = CELL) -> str:
    """Return a cell of an array around a point; kinds are in, out, part and off."""
    rect = f'<rect class="{kind}" x="{x - width / 2:g}" y="{y - 16:g}" width="{width:g}" height="32"/>'
    return rect + f'<text x="{x:g}" y="{y:g}">{value}</text>'


def text(x: float, y: float, words: str, kind: str = "word") -> str:
    """Return words that begin at a point; code is centred."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{words}</text>'


def arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    """Return an arrow."""
    return f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" marker-end="url(#tip)"/>'


def at(place: float) -> float:
    """Return where the middle of an element lies."""
    return LEFT + CELL * (place + 0.5)


def row(y: float, name: str, values: Values, kind: str | Sequence[str]) -> str:
    """Return an array with its name in front."""
    kinds = [kind] * len(values) if isinstance(kind, str) else kind
    cells = (box(at(k), y, value, one) for k, (value, one) in enumerate(zip(values, kinds, strict=True)))
    return text(4, y, name) + "".join(cells)


def map_() -> tuple[int, Iterable[str]]:
    """Draw a function of each pair of elements."""
    x, y = [3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 8, 2, 8, 1, 8]
    parts = [row(30, "x", x, "in"), row(66, "y", y, "in")]
    parts += [arrow(at(k), 84, at(k), 124) for k in range(8)]
    parts += [row(142, "x*y + 1", [a * b + 1 for a, b in zip(x, y, strict=True)], "out")]
    return 170, parts


def reduce() -> tuple[int, Iterable[str]]:
    """Draw the tree by which a group adds its elements."""
    values, y, parts = [3, 1, 4, 1, 5, 9, 2, 6], 30, []
    places = [float(k) for k in range(8)]
    while True:
        name = {8: "x", 1: "sum"}.get(len(values), "partial")
        kind = {8: "in", 1: "out"}.get(len(values), "part")
        parts += [text(4, y, name), *(box(at(k), y, v, kind) for k, v in zip(places, values, strict=True))]
        if len(values) == 1:
            return y + 28, parts
        above = [(a + b) / 2 for a, b in zip(places[::2], places[1::2], strict=True)]
        for k, place in enumerate(places):
            parts.append(arrow(at(place), y + 18, at(above[k // 2]) + (6 if k % 2 else -6), y + 42))
        values, places, y = [a + b for a, b in zip(values[::2], values[1::2], strict=True)], above, y + 60


def reduce_axes() -> tuple[int, Iterable[str]]:
    """Draw the sums along either axis of an array."""
    table = [[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]]
    parts = [row(30 + 36 * k, "x" if k == 1 else "", line, "in") for k, line in enumerate(table)]
    for k, line in enumerate(table):
        y = 30 + 36 * k
        parts += [arrow(at(3) + 24, y, at(5) - 8, y), box(at(5) + 14, y, sum(line), "out")]
    parts += [text(at(5) + 42, 66, "axis=1")]
    for k, column in enumerate(zip(*table, strict=True)):
        parts += [arrow(at(k), 120, at(k), 148), box(at(k), 168, sum(column), "out")]
    return 196, [*parts, text(4, 168, "axis=0")]


def scan() -> tuple[int, Iterable[str]]:
    """Draw running sums with and without the element itself."""
    x = [3, 1, 4, 1, 5, 9, 2, 6]
    sums = list(accumulate(x))
    parts = [row(30, "x", x, "in"), row(98, "scan", sums, "out"), row(138, "exclusive", [0, *sums[:-1]], "out")]
    parts += [arrow(at(k), 48, at(k), 78) for k in range(8)]
    parts += [arrow(at(k) + 8, 82, at(k + 1) - 8, 54) for k in range(7)]
    return 166, parts


def scan_tiles() -> tuple[int, Iterable[str]]:
    """Draw a scan in one pass: each tile publishes its aggregate and takes the prefix of those before it."""
    tiles = [[3, 1, 4], [1, 5, 9], [2, 6, 5]]
    middles = [LEFT + 62 + 132 * k for k in range(3)]
    before, parts = 0, [text(4, 30, "tiles"), text(4, 92, "aggregate"), text(4, 154, "prefix"), text(4, 216, "result")]
    for k, (tile, middle) in enumerate(zip(tiles, middles, strict=True)):
        for j, (value, prefix) in enumerate(zip(tile, accumulate(tile), strict=True)):
            x = middle + CELL * (j - 1)
            parts += [box(x, 30, value, "in"), box(x, 216, before + prefix, "out")]
        parts += [arrow(middle, 48, middle, 74), box(middle, 92, sum(tile), "part")]
        parts += [box(middle, 154, before, "part"), arrow(middle, 172, middle, 198)]
        if k:
            parts += [
                arrow(middles[k - 1] + 22, 100, middle - 22, 146),
                arrow(middles[k - 1] + 22, 154, middle - 24, 154),
            ]
        before += sum(tile)
    return 244, parts


def segments() -> tuple[int, Iterable[str]]:
    """Draw sums of segments, one of them empty."""
    x, offsets = [5, 8, 3, 6, 2, 7, 1, 4], [0, 3, 3, 5, 8]
    kinds = ["in", "in", "in", "part", "part", "in", "in", "in"]
    parts = [row(30, "x", x, kinds), text(4, 78, "offsets")]
    parts += [text(LEFT + CELL * k, 78, str(k) if k != 3 else "3, 3", "code") for k in sorted(set(offsets))]
    parts += [f'<line x1="{LEFT + CELL * k}" y1="50" x2="{LEFT + CELL * k}" y2="66"/>' for k in sorted(set(offsets))]
    parts += [text(4, 140, "sums")]
    for low, high in pairwise(offsets):
        middle = at((low + high - 1) / 2)
        parts += [arrow(middle, 92, middle, 120), box(middle, 140, sum(x[low:high]), "out", 32)]
    return 168, parts


def compact() -> tuple[int, Iterable[str]]:
    """Draw kept elements, and the scan that tells their places."""
    x = [3, -1, 4, -1, 5, -9, 2, 6]
    kept = [value > 0 for value in x]
    places = [0, *accumulate(map(int, kept))][:-1]
    parts = [row(30, "x", x, ["in" if one else "off" for one in kept])]
    parts += [row(70, "x &gt; 0", [int(one) for one in kept], ["part" if one else "off" for one in kept])]
    parts += [row(110, "place", places, ["part" if one else "off" for one in kept])]
    parts += [arrow(at(k), 128, at(places[k]), 166) for k in range(8) if kept[k]]
    return 214, [*parts, row(186, "result", [v for v in x if v > 0], "out")]


def radix_pass() -> tuple[int, Iterable[str]]:
    """Draw a pass of a radix sort: tiles rank keys by their last digit; colours are digits."""
    keys, kinds, pitch = [32, 10, 21, 40, 22, 11, 30, 50, 12], ("in", "part", "out"), 132
    digits = [key % 10 for key in keys]
    counts = [[digits[k : k + 3].count(digit) for digit in range(3)] for k in (0, 3, 6)]
    before = [[sum(tile[digit] for tile in counts[:k]) for digit in range(3)] for k in range(3)]
    first = [sum(one < digit for one in digits) for digit in range(3)]
    lines = [(30, "keys"), (92, "counts"), (154, "in earlier"), (170, "tiles"), (216, "place"), (308, "result")]
    parts = [text(4, y, name) for y, name in lines]
    for tile in range(3):
        for j in range(3):
            x, k = LEFT + 62 + pitch * tile + CELL * (j - 1), 3 * tile + j
            rank = digits[3 * tile : k].count(digits[k])
            place = first[digits[k]] + before[tile][digits[k]] + rank
            kind = kinds[digits[k]]
            parts += [box(x, 30, keys[k], kind), box(x, 92, counts[tile][j], kinds[j])]
            parts += [box(x, 154, before[tile][j], kinds[j]), box(x, 216, place, kind)]
            parts += [arrow(x, 234, at(place), 288)]
        middle = LEFT + 62 + pitch * tile
        parts += [arrow(middle, 48, middle, 74)]
        if tile:
            parts += [arrow(middle - 70, 100, middle - 62, 146), arrow(middle - 70, 154, middle - 62, 154)]
    return 336, [*parts, row(308, "", sorted(keys, key=lambda key: key % 10), [kinds[d] for d in sorted(digits)])]


def by_key() -> tuple[int, Iterable[str]]:
    """Draw sums by key: a stable sort brings the values of each key together."""
    keys, values, kinds = [3, 1, 3, 2, 1, 1, 2, 3], [5, 8, 3, 6, 2, 7, 1, 4], ("in", "part", "off")
    order = sorted(range(8), key=lambda k: keys[k])
    parts = [row(30, "keys", keys, [kinds[key - 1] for key in keys])]
    parts += [row(64, "x", values, [kinds[key - 1] for key in keys])]
    parts += [arrow(at(k), 82, at(place), 138) for place, k in enumerate(order)]
    parts += [row(158, "sorted", [values[k] for k in order], [kinds[keys[k] - 1] for k in order]), text(4, 224, "sums")]
    for key in sorted(set(keys)):
        held = [place for place, k in enumerate(order) if keys[k] == key]
        middle = at((held[0] + held[-1]) / 2)
        parts += [arrow(middle, 176, middle, 204), box(middle, 224, sum(values[order[place]] for place in held), "out")]
        parts += [text(middle, 254, f"key {key}", "code")]
    return 272, parts


def merge() -> tuple[int, Iterable[str]]:
    """Draw the merge path of two sorted arrays; lines show where tiles of three results begin."""
    a, b, size, left, top = [1, 4, 4, 7, 9], [2, 3, 4, 8], 34, 110, 62
    parts = [text(left - 66, top - 24, "a"), text(left - 66, top + 2 * size, "b")]
    parts += [box(left + size * (k + 0.5), top - 24, value, "in", size) for k, value in enumerate(a)]
    parts += [box(left - 28, top + size * (k + 0.5), value, "part", size) for k, value in enumerate(b)]
    parts += [f'<path d="M{left} {top + size * k} h{size * len(a)}" opacity="0.4"/>' for k in range(len(b) + 1)]
    parts += [f'<path d="M{left + size * k} {top} v{size * len(b)}" opacity="0.4"/>' for k in range(len(a) + 1)]
    i = j = 0
    merged, corners = [], [(0, 0)]
    while i + j < len(a) + len(b):
        of_a = j == len(b) or (i < len(a) and a[i] <= b[j])
        merged.append((a[i], "in") if of_a else (b[j], "part"))
        i, j = (i + 1, j) if of_a else (i, j + 1)
        corners.append((i, j))
    steps = " ".join(f"{left + size * x} {top + size * y}" for x, y in corners)
    parts += [f'<path d="M{steps}" style="stroke: var(--ink); stroke-width: 3"/>']
    for x, y in corners[3::3][:-1]:
        x, y = left + size * x, top + size * y
        parts += [f'<path d="M{x - 26} {y + 26} L{x + 26} {y - 26}" stroke-dasharray="4 3"/>']
        parts += [f'<circle cx="{x}" cy="{y}" r="5" style="fill: var(--ink)"/>']
    parts += [row(248, "result", [value for value, _ in merged], [kind for _, kind in merged])]
    return 276, [*parts, *(f'<path d="M{at(k - 0.5)} 226 v44" stroke-dasharray="4 3"/>' for k in (3, 6))]


def take() -> tuple[int, Iterable[str]]:
    """Draw elements gathered by indices."""
    x, indices = [3, 1, 4, 1, 5, 9, 2, 6], [5, 0, 2, 2, -1]
    used = {index % len(x) for index in indices}
    parts = [row(30, "x", x, ["in" if k in used else "off" for k in range(8)])]
    parts += [text(at(k), 58, str(k), "code") for k in range(8)]
    parts += [arrow(at(index % len(x)), 70, at(k + 1.5), 116) for k, index in enumerate(indices)]
    parts += [text(4, 136, "indices"), text(4, 172, "result")]
    for k, index in enumerate(indices):
        parts += [box(at(k + 1.5), 136, index, "part"), box(at(k + 1.5), 172, x[index], "out")]
    return 200, parts


def top_k() -> tuple[int, Iterable[str]]:
    """Draw the three largest elements, and their places."""
    x = [3, 1, 4, 1, 5, 9, 2, 6]
    places = sorted(range(8), key=lambda k: -x[k])[:3]
    parts = [row(30, "x", x, ["in" if k in places else "off" for k in range(8)])]
    parts += [text(at(k), 58, str(k), "code") for k in range(8)]
    parts += [arrow(at(place), 70, at(k), 116) for k, place in enumerate(places)]
    parts += [row(136, "values", [x[place] for place in places], "out")]
    return 200, [*parts, row(172, "places", places, "part")]


def histogram() -> tuple[int, Iterable[str]]:
    """Draw the elements of each bin above its count."""
    x, bins = [0.2, 1.7, 1.1, 3.4, 1.9, 0.6, 2.2, 1.3], 4
    held = [[value for value in x if int(value) == k] for k in range(bins)]
    parts, floor = [row(30, "x", x, "in"), text(4, 230, "counts"), text(4, 262, "edges")], 206
    for k, values in enumerate(held):
        middle = LEFT + 80 * k + 40
        parts += [box(middle, floor - 18 - 34 * j, value, "part", 64) for j, value in enumerate(values)]
        parts += [box(middle, 230, len(values), "out", 80)]
    parts += [text(LEFT + 80 * k, 262, str(k), "code") for k in range(bins + 1)]
    return 282, parts


def stencil() -> tuple[int, Iterable[str]]:
    """Draw a neighbourhood and the weighted sum that takes its place."""
    image = [[1, 1, 2, 4], [1, 2, 6, 8], [1, 3, 7, 9], [0, 1, 4, 5]]
    weights = {(0, 0): -4, (0, 1): 1, (0, -1): 1, (1, 0): 1, (-1, 0): 1}
    left, right, parts = 30, 330, [text(14, 186, "x"), text(214, 186, "weights"), text(314, 186, "result")]
    for y, line in enumerate(image):
        for x, value in enumerate(line):
            used = (y - 1, x - 2) in weights
            parts += [box(left + CELL * x, 30 + 36 * y, value, "part" if used else "in")]
            centre = (y, x) == (1, 2)
            total = sum(w * image[y + dy][x + dx] for (dy, dx), w in weights.items()) if centre else ""
            parts += [box(right + CELL * x, 30 + 36 * y, total, "out" if centre else "off")]
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            parts += [
                box(240 + 30 * dx, 84 + 36 * dy, weights.get((dy, dx), 0), "part" if (dy, dx) in weights else "off", 30)
            ]
    return 204, [*parts, arrow(170, 84, 192, 84), arrow(288, 84, 306, 84)]


def slabs() -> tuple[int, Iterable[str]]:
    """Draw slabs of a large array on their way through a device: three things at the same time."""
    parts = [text(4, 30, "copy in"), text(4, 72, "compute"), text(4, 114, "copy out"), text(4, 150, "time")]
    for k in range(5):
        for stage, kind in enumerate(("in", "part", "out")):
            parts += [box(LEFT + 28 + 56 * (k + stage), 30 + 42 * stage, k + 1, kind, 54)]
    return 170, [*parts, arrow(LEFT, 150, LEFT + 392, 150)]


DRAWINGS: dict[str, Callable[[], tuple[int, Iterable[str]]]] = {
    "map": map_,
    "reduce": reduce,
    "reduce-axes": reduce_axes,
    "scan": scan,
    "scan-tiles": scan_tiles,
    "segments": segments,
    "compact": compact,
    "radix-pass": radix_pass,
    "by-key": by_key,
    "top-k": top_k,
    "take": take,
    "merge": merge,
    "histogram": histogram,
    "stencil": stencil,
    "slabs": slabs,
}
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
    '<path d="M1 1 L7 4 L1 7"/></marker></defs>'
)


def svg(name: str) -> str:
    """Return the text of a drawing's file."""
    height, parts = DRAWINGS[name]()
    head = f'<svg class="gp" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">'
    return "\n".join([head, STYLE, _TIP, *parts, "</svg>", ""])


if __name__ == "__main__":
    for name in DRAWINGS:
        (FOLDER / f"{name}.svg").write_text(svg(name), encoding="utf-8")
