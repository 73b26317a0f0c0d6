"""Neighbours and weights of linear and cubic interpolation along one axis."""

from __future__ import annotations

from stepwell.lowering.to_graph import Value

TAPS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
"""Offsets of the neighbours from the position rounded down (nearest: to the nearest)."""


def cubic(distance: Value, a: float) -> Value:
    """Keys' kernel at distances from 0 to 2."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return distance.formula.where(distance <= 1, near, far)
