"""What a fold is written with: OP and IDENTITY, arrays of values, and values as 32-bit words."""

from __future__ import annotations

from collections.abc import Sequence

from gpuprims.core.kernel_spec import Definitions, Dtype
from gpuprims.expressions import c_type, constant, emit_function, part


class Packing:
    """How a value's components are written: bare when there is one, else fields of a struct."""

    def __init__(self, values: Sequence[Dtype]) -> None:
        self.fields = [""] if len(values) == 1 else [f".v{k}" for k in range(len(values))]

    def close(self, *results: str) -> str:
        """Return the last line of a function that gives a value."""
        if len(results) == 1:
            return f"return {results[0]};"
        assigned = " ".join(f"packed{field} = {result};" for field, result in zip(self.fields, results, strict=True))
        return f"value_t packed; {assigned} return packed;"


def fold_text(definitions: Definitions) -> list[str]:
    """Write OP and IDENTITY, and how a value is picked."""
    if definitions.op is None:
        return []
    pack = Packing(definitions.values)
    arguments = [f"{side}{field}" for side in "ab" for field in pack.fields]
    scalars = zip(definitions.identity, definitions.values, strict=True)
    constants = [constant(repr(scalar.item()), dtype) for scalar, dtype in scalars]
    return [
        emit_function(
            "DEVICE value_t gp_fold(const value_t a, const value_t b)", definitions.op, arguments, pack.close
        ),
        "\n".join(["DEVICE value_t gp_identity(void)", "{", f"    {pack.close(*constants)}", "}"]),
        *_arrays(pack, definitions.values),
        "#define OP(a, b) gp_fold(a, b)",
        "#define IDENTITY gp_identity()",
        *_better(pack, definitions),
    ]


def _better(pack: Packing, definitions: Definitions) -> list[str]:
    """Write LEAD, a value's first component, and BETTER, of two of them."""
    if definitions.better is None:
        return []
    kind = c_type(definitions.values[0])
    head = f"DEVICE int gp_better(const {kind} a, const {kind} b)"
    return [
        f"typedef {kind} lead_t;",
        emit_function(head, definitions.better, ["a", "b"], lambda result: f"return {result};"),
        "#define BETTER(a, b) gp_better(a, b)",
        f"#define LEAD(value) (value){pack.fields[0]}",
    ]


def _arrays(pack: Packing, values: Sequence[Dtype]) -> list[str]:
    """Write VALUES, an array of values, VALUE, one of them, and SET_VALUE: each component an array of its own."""
    numbers = range(len(values))
    parameters = ", ".join(f"const {c_type(dtype)} c{k}" for k, dtype in enumerate(values))
    arrays = "; ".join(f"{c_type(dtype)} name##_v{k} places" for k, dtype in enumerate(values))
    sets = " ".join(f"name##_v{k} place = gp_set{field};" for k, field in enumerate(pack.fields))
    return [
        "\n".join(
            [f"DEVICE value_t gp_pack({parameters})", "{", f"    {pack.close(*(f'c{k}' for k in numbers))}", "}"]
        ),
        f"#define VALUES(name, places) {arrays}",
        f"#define VALUE(name, place) gp_pack({', '.join(f'name##_v{k} place' for k in numbers)})",
        f"#define SET_VALUE(name, place, value) do {{ const value_t gp_set = value; {sets} }} while (0)",
    ]


def words_text(definitions: Definitions) -> list[str]:
    """Write a value as 32-bit words, and back: what lanes and groups pass on."""
    pack = Packing(definitions.values)
    split: list[str] = []
    joined: list[str] = []
    for field, dtype in zip(pack.fields, definitions.values, strict=True):
        parts = (".re", ".im") if dtype.kind == "c" else ("",)
        bits = [_split_number(f"value{field}{name}", part(dtype), split) for name in parts]
        joined.append(f"gp_make_{c_type(dtype)}({', '.join(bits)})" if dtype.kind == "c" else bits[0])
    return [
        "\n".join(["DEVICE void gp_split(const value_t value, u32 *words)", "{", *split, "}"]),
        "\n".join(["DEVICE value_t gp_join(const u32 *words)", "{", f"    {pack.close(*joined)}", "}"]),
    ]


def _split_number(value: str, dtype: Dtype, lines: list[str]) -> str:
    """Append the lines that write a real number's words behind those before it; return C text of it, joined again."""
    kind, word = c_type(dtype), len(lines)
    if dtype.itemsize < 8:
        lines.append(f"    words[{word}] = gp_bits_{kind}({value});")
        return f"gp_from_bits_{kind}(words[{word}])"
    lines.append(f"    words[{word}] = (u32)gp_bits_{kind}({value});")
    lines.append(f"    words[{word + 1}] = (u32)(gp_bits_{kind}({value}) >> 32);")
    return f"gp_from_bits_{kind}((u64)words[{word}] | ((u64)words[{word + 1}] << 32))"
