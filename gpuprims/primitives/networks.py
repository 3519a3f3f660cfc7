"""Networks that sort a few elements, which a work-item keeps in registers."""

from __future__ import annotations

from collections.abc import Iterator


def exchanges(length: int) -> Iterator[tuple[int, int]]:
    """Yield the places that Batcher's network compares, and puts in order, one pair after the other."""
    run = 1
    while run < length:
        apart = run
        while apart:
            for begin in range(apart % run, length - apart, 2 * apart):
                for k in range(begin, min(begin + apart, length - apart)):
                    if k // (2 * run) == (k + apart) // (2 * run):
                        yield k, k + apart
            apart //= 2
        run *= 2


def network_macros(length: int) -> dict[str, int | str]:
    """Return the macros of kernels that sort so many elements by a network: their number, and its exchanges."""
    network = " ".join(f"EXCHANGE({low}, {high})" for low, high in exchanges(length))
    return {"LENGTH": length, "NETWORK": network}
