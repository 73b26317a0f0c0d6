"""Results of functions on the host, in the memory that a call has for them."""

from __future__ import annotations

from stepwell.runtime.interface import Array


def filled(output: Array | None, found: Array, number: int) -> Array:
    """
    The found array, in the output's memory where there is some.

    Raises: TypeError for another dtype, ValueError for another shape; both name the `number` of the result.
    """
    if output is None:
        return found
    if found.dtype != output.dtype:
        raise TypeError(f"result {number} must be of {output.dtype}, found {found.dtype}")
    if found.shape != output.shape:
        raise ValueError(f"result {number} must have shape {list(output.shape)}, found {list(found.shape)}")
    output[...] = found
    return output
