"""Values in C: one bare number or a struct, and both as 32-bit words."""

from __future__ import annotations

from collections.abc import Sequence

from gpuprims.core.kernel_spec import Dtype
from gpuprims.expressions import c_type, part


class Packing:
    """C text of a value's components: the value itself if it has one, else the fields of a struct."""

    def __init__(self, values: Sequence[Dtype]) -> None:
        self.fields = [""] if len(values) == 1 else [f".v{k}" for k in range(len(values))]

    def close(self, *results: str) -> str:
        """Return the last line of a function that returns a value of these components."""
        if len(results) == 1:
            return f"return {results[0]};"
        assigned = " ".join(f"packed{field} = {result};" for field, result in zip(self.fields, results, strict=True))
        return f"value_t packed; {assigned} return packed;"


def words_text(values: Sequence[Dtype]) -> list[str]:
    """Write gp_split, from a value to the 32-bit words that lanes and groups exchange, and gp_join, back."""
    pack = Packing(values)
    split: list[str] = []
    joined: list[str] = []
    for field, dtype in zip(pack.fields, values, strict=True):
        parts = (".re", ".im") if dtype.kind == "c" else ("",)
        bits = [_split_number(f"value{field}{name}", part(dtype), split) for name in parts]
        joined.append(f"gp_make_{c_type(dtype)}({', '.join(bits)})" if dtype.kind == "c" else bits[0])
    return [
        "\n".join(["DEVICE void gp_split(const value_t value, u32 *words)", "{", *split, "}"]),
        "\n".join(["DEVICE value_t gp_join(const u32 *words)", "{", f"    {pack.close(*joined)}", "}"]),
    ]


def _split_number(value: str, dtype: Dtype, lines: list[str]) -> str:
    """Append lines that write a real number to the next words; return C text that reads it back."""
    kind, word = c_type(dtype), len(lines)
    if dtype.itemsize < 8:
        lines.append(f"    words[{word}] = gp_bits_{kind}({value});")
        return f"gp_from_bits_{kind}(words[{word}])"
    lines.append(f"    words[{word}] = (u32)gp_bits_{kind}({value});")
    lines.append(f"    words[{word + 1}] = (u32)(gp_bits_{kind}({value}) >> 32);")
    return f"gp_from_bits_{kind}((u64)words[{word}] | ((u64)words[{word + 1}] << 32))"
