"""
Trial of the tile registers before code for them is made or run: a product of two small tiles is compared with
numpy's, and the speed of many products with that of as many products of vectors.
"""

from __future__ import annotations

import ctypes
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stepwell.runtime.link.code import Code
from stepwell.runtime.machine.cpu_features import cpu_features
from stepwell.runtime.machine.loader import Library
from stepwell.runtime.memory import aligned_empty

PRODUCT, TILE_SPEED, VECTOR_SPEED = "stepwell_tile_product", "stepwell_tile_speed", "stepwell_vector_speed"
"""The names of the functions in their code."""
TILE_PRODUCTS = 4 * 16 * 16 * 64
"""The products of bytes in a step of `TileFunctions.tile_speed`: four of 16x64 bytes times 64x16."""
VECTORS = 16
VECTOR_PRODUCTS = VECTORS * 64
"""The products of bytes in a step of `TileFunctions.vector_speed`."""
_ROUNDS, _STEPS = 3, 2000


class TileFunctions(NamedTuple):
    """Machine code that tries the tile registers: the addresses of three functions."""

    product: int
    """`void(ptr configuration, ptr a, ptr b, ptr c)`: C = A times B, of one tile each."""
    tile_speed: int
    """`void(ptr configuration, i64 steps)`: four products of tiles a step."""
    vector_speed: int
    """`void(ptr memory, i64 steps)`: sixteen products of AVX-512 VNNI a step; memory of 64 bytes."""
    code: object = None
    """The owner of the memory in which they are."""


def functions_of(code: Code) -> TileFunctions:
    """The functions of an image's code. Raises: InternalError when it does not define them."""
    library = Library(code)
    product, tile_speed, vector_speed = map(library.address, (PRODUCT, TILE_SPEED, VECTOR_SPEED))
    return TileFunctions(product, tile_speed, vector_speed, library)


def tiles_multiply(functions: TileFunctions) -> bool:
    """Whether tile registers compute correct sums; only for a process that may use them."""
    product = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(functions.product)
    configuration = np.zeros(64, np.uint8)
    configuration[0] = 1
    configuration[[16, 24, 28]], configuration[[48, 52, 54]] = 64, 16
    # Bytes without a pattern; numpy's generators would take longer to import than the model to load.
    mixed = (np.arange(2 * 1024, dtype=np.uint32) * np.uint32(2654435761) >> np.uint32(24)).astype(np.uint8)
    a, b = mixed[:1024].reshape(16, 64), mixed[1024:].view(np.int8).reshape(16, 16, 4)
    c = np.empty((16, 16), np.int32)
    product(*(array.ctypes.data for array in (configuration, a, b, c)))
    columns = b.transpose(0, 2, 1).reshape(64, 16).astype(np.int32)
    return np.array_equal(c, a.astype(np.int32) @ columns)


def tiles_are_faster(functions: TileFunctions) -> bool:
    """
    Whether tile registers multiply more bytes in a second than vectors do, where these multiply bytes at all.

    By design they multiply eight times as many; tile registers that a virtual machine emulates do not.
    """
    if "avx512vnni" not in cpu_features():
        return True
    configuration = aligned_empty(64).view(np.uint8)
    configuration[:] = 0
    configuration[0] = 1
    configuration[16:32:2], configuration[48:56] = 64, 16
    tiles = _seconds(functions.tile_speed, configuration) / TILE_PRODUCTS
    return tiles < _seconds(functions.vector_speed, configuration) / VECTOR_PRODUCTS


def _seconds(function: int, memory: npt.NDArray[np.uint8]) -> float:
    """The time of a step, the best of a few rounds."""
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(function)
    rounds: list[float] = []
    for _ in range(_ROUNDS):
        start = perf_counter()
        run(memory.ctypes.data, _STEPS)
        rounds.append((perf_counter() - start) / _STEPS)
    return min(rounds)
