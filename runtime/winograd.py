"""The matrices of Winograd's minimal filtering, F(m x m, 3 x 3), and filters transformed by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fractions import Fraction

FILTER = 3
"""Points of a filter along one axis."""

# Besides infinity. For m = 4 the usual 0, 1, 2 err four times as much (7.4e-6 of the output's range against
# 2.4e-6 over 256 channels); these are exact in binary too, and come in pairs of opposite sign likewise.
_POINTS = {2: (0.0, 1.0, -1.0), 4: (0.0, 0.75, -0.75, 1.5, -1.5)}
TILES = tuple(_POINTS)
"""The tile sizes with matrices."""

Matrix: TypeAlias = "tuple[tuple[Fraction, ...], ...]"


@dataclass(frozen=True)
class Transforms:
    """
    `y = A ((G w) * (B x))`: m results of a filter w of 3 points over m + 2 inputs x, in m + 2 products.

    In two dimensions each matrix is applied along both axes.
    """

    output: Matrix
    """A, [m, m + 2]."""
    filters: Matrix
    """G, [m + 2, 3]."""
    input: Matrix
    """B, [m + 2, m + 2]."""


@cache
def transforms(tile: int) -> Transforms:
    """
    The matrices of a tile of m results.

    Source: Toom-Cook with a point at infinity; Lavin & Gray 2015, "Fast Algorithms for Convolutional Neural
    Networks"; on points that err less: Barabasz et al. 2018, "Error Analysis and Improving the Accuracy of
    Winograd Convolution".
    """
    from fractions import Fraction

    points, zero, one = [Fraction(point) for point in _POINTS[tile]], Fraction(0), Fraction(1)
    output = tuple((*(p**i for p in points), one if i == tile - 1 else zero) for i in range(tile))
    filters: list[tuple[Fraction, ...]] = []
    inputs: list[tuple[Fraction, ...]] = []
    for point in points:
        others = [p for p in points if p != point]
        scale = prod((point - p for p in others), start=one)
        filters.append(tuple(point**k / scale for k in range(FILTER)))
        inputs.append((*_with_roots(others), zero))
    filters.append((zero,) * (FILTER - 1) + (one,))
    inputs.append(tuple(_with_roots(points)))
    return Transforms(output, tuple(filters), tuple(inputs))


def _with_roots(roots: Sequence[Fraction]) -> list[Fraction]:
    """The coefficients of the polynomial with these roots, the constant one first."""
    from fractions import Fraction

    coefficients = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *coefficients]
        scaled = [*(root * c for c in coefficients), Fraction(0)]
        coefficients = [a - b for a, b in zip(shifted, scaled, strict=True)]
    return coefficients


def as_array(matrix: Matrix) -> npt.NDArray[np.float64]:
    """A matrix in floating point."""
    return np.array([[float(number) for number in row] for row in matrix])


def transform_filters(w: npt.NDArray[np.floating], tile: int) -> npt.NDArray[np.float64]:
    """
    `G w Gᵀ` of filters [O, C, 3, 3]: [(m + 2)², O, C], computed in f64.

    One product for each O is too small for threads of numpy's BLAS, which would spin afterwards (resnet50:
    1.2 of 7.3 processor seconds of a compilation).
    """
    g = as_array(transforms(tile).filters)
    o, c = w.shape[:2]
    points = np.kron(g, g) @ w.reshape(o, c, FILTER**2).swapaxes(1, 2).astype(np.float64)
    return points.swapaxes(0, 1)
