"""Windows along a spatial axis of known size: those without padding, and the cells that count."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WindowAxis:
    """The windows along an axis."""

    size: int
    """The extent of the input."""
    count: int
    """The number of windows."""
    kernel: int
    stride: int
    dilation: int
    begin: int
    """Padding before the input."""
    end: int
    """Padding after it."""

    def without_padding(self) -> tuple[int, int]:
        """The range of windows, as (first, end), whose cells are all inside the input."""
        first = -(-self.begin // self.stride)
        last = (self.size - (self.kernel - 1) * self.dilation - 1 + self.begin) // self.stride
        return first, min(last + 1, self.count)

    def cells(self, with_pads: bool, position: int) -> int:
        """The number of cells of a window that count, with or without padding."""
        low = position * self.stride - self.begin
        first, last = (-self.begin, self.end) if with_pads else (0, 0)
        points = range(low, low + self.kernel * self.dilation, self.dilation)
        return sum(first <= cell < self.size + last for cell in points)
