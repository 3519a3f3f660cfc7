"""What kernels of logistic regression are written with: how samples are held, and what is computed of a row."""

from __future__ import annotations

from gpuprims.core.kernel_spec import Definitions, Logistic
from gpuprims.expressions import c_type, emit_function


def logistic_text(definitions: Definitions, samples: Logistic) -> list[str]:
    """Write the macros that ``rows.h`` is about, and the function JUDGE, where the gradient is what it gives."""
    number = definitions.values[0]
    constants = {
        "NUMBER": c_type(number),
        "FEATURES": samples.features,
        "INTERCEPT": int(samples.intercept),
        "WEIGHTED": int(samples.weighted),
        "LANES": samples.lanes,
        "ROWS": samples.rows,
        "CHUNKS": -(-samples.features // (samples.lanes * definitions.vector)),
        "JUDGED": samples.judged,
        "PLACE": f"u{8 * number.itemsize}",
        "NEAR": 16 // number.itemsize,  # of local memory, in one load
        "POWER": f"gp_power_{c_type(number)}",
        "INVERSE": f"gp_inverse_{c_type(number)}",
    }
    macros = [f"#define {name} {value}" for name, value in constants.items()]
    if samples.lock_free:
        macros.append("#define LOCK_FREE")
    word = f"i{8 * number.itemsize}"
    in_vectors = [f"VECTOR_OF({kind}, {samples.judged})" for kind in (c_type(number), word)]
    judged, mask = in_vectors if samples.judged > 1 else (c_type(number), "b8")
    macros.append(f"typedef {judged} judged_t;")
    if samples.gives != "gradient":
        return macros
    return [
        *macros,
        f"typedef {mask} mask_t;",
        _judge(definitions),
        "#define JUDGE(z, y, s, loss, error) gp_judge(z, y, s, loss, error)",
    ]


def _judge(definitions: Definitions) -> str:
    """Write the function of a row, or of several in vectors, of which C's operators give masks of their width."""
    number = c_type(definitions.values[0])
    taken = ", ".join(f"const {number} {name}" for name in "zys")
    text = emit_function(
        f"DEVICE void gp_judge({taken}, {number} *loss, {number} *error)",
        definitions.map,
        ["z", "y", "s"],
        lambda *found: f"*loss = {found[0]}; *error = {found[1]};",
    )
    return text.replace(f"{number} ", "judged_t ").replace("b8 ", "mask_t ")
