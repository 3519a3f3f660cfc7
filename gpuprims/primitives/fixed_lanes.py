"""Sums of products by lanes of a fixed number, whose operations and order do not depend on the device.

Lane k adds every ``lanes``-th product, from product k on, to zero; then the lanes fold by halves. A sum that begins
with zero is never the zero with a sign, so lanes without a product may be left out: adding their zero changes nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from gpuprims.core.codegen.operands import return_value
from gpuprims.core.geometry import power_of_two
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.expressions import TypedExpr, as_portable, c_type, emit_function, trace, typed

# Most lanes that add the products of a score.
_MOST_LANES = 128


def lanes_of(features: int) -> int:
    """Return the lanes that add the products of a score of ``features`` features."""
    return min(power_of_two(features), _MOST_LANES)


class FixedLanesSpec(KernelSpec):
    """Macros of kernels that add products by such lanes, without contraction."""

    contracted: ClassVar[bool] = False

    @property
    def functions(self) -> tuple[TypedExpr | None, ...]:
        """See :class:`KernelSpec`."""
        return *super().functions, settled(self.values[0])

    @property
    def tree_lanes(self) -> int:
        """The number of lanes."""
        raise NotImplementedError

    def macros(self) -> dict[str, int | str]:
        """Define the lanes, and products that are rounded by themselves."""
        product = f"gp_times_{c_type(self.values[0])}(a, b)"
        return super().macros() | {"TREE_LANES": self.tree_lanes, "PRODUCT_OF(a, b)": product}

    def text(self) -> list[str]:
        """Write ``gp_settled``, which gives all NaN the same bits."""
        head = "DEVICE value_t gp_settled(const value_t value)"
        return [*super().text(), emit_function(head, settled(self.values[0]), ["value"], return_value)]


@lru_cache(maxsize=2)
def settled(dtype: np.dtype[Any]) -> TypedExpr:
    """Return the function that gives all NaN the same bits."""
    return as_portable(typed(trace(lambda value: value, 1), (dtype,)), settles_copies=True)


def folded_lanes(lanes: np.ndarray) -> np.ndarray:
    """Fold lanes, along the second axis, by halves."""
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes[:, 0]


def summed_by_lanes(products: np.ndarray, lanes: int) -> Any:
    """Return the sum of a row of products."""
    padded = np.zeros(-(-len(products) // lanes) * lanes, products.dtype)
    padded[: len(products)] = products
    sums = np.zeros(lanes, products.dtype)
    for turn in padded.reshape(-1, lanes):
        sums += turn
    return folded_lanes(sums[np.newaxis])[0]
