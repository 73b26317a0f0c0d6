"""`run --profile --roofline F.svg`: kernels by arithmetic intensity and speed, under the machine's limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from xml.sax.saxutils import escape, quoteattr

from stepwell.runtime.model_source import ProfileRow
from stepwell.tools.measure.calibrate import MachineLimits

_WIDTH, _HEIGHT = 800, 560
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 40, 60
_STYLE = (
    "text{font:12px sans-serif;fill:#222} .grid{stroke:#ddd} .roof{stroke:#444;fill:none;stroke-width:2}"
    " .cache{stroke-dasharray:6 4} .kernel{fill:#1f6fb2;fill-opacity:.6;stroke:#123}"
)


@dataclass(frozen=True)
class _Axes:
    """Logarithmic axes: powers of ten at both ends of the operations a byte, and of GFLOP/s."""

    x: tuple[int, int]
    y: tuple[int, int]

    def at(self, intensity: float, gflops: float) -> tuple[float, float]:
        """The place of a point in pixels."""
        across = (log10(intensity) - self.x[0]) / (self.x[1] - self.x[0])
        up = (log10(gflops) - self.y[0]) / (self.y[1] - self.y[0])
        width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        return round(_LEFT + across * width, 1), round(_HEIGHT - _BOTTOM - up * height, 1)


def roofline_svg(title: str, rows: Sequence[ProfileRow], limits: MachineLimits, threads: int) -> str:
    """
    The rows of a profile that compute, as a scalable vector graphic.

    A circle is a kernel, its area the share of the call's time; lines are the peaks of arithmetic and of the
    bandwidths of memory and, dashed, of the level-2 cache. Rows without operations have no place.
    """
    points = [
        (row, row.gflops / row.gigabytes_per_second, row.gflops)
        for row in rows
        if row.gflops > 0 and row.gigabytes_per_second > 0
    ]
    peak = limits.flops(threads) / 1e9
    bandwidths = [limits.bandwidth(threads, size) / 1e9 for size in (float("inf"), 0)]
    ridges = [peak / bandwidth for bandwidth in bandwidths]
    axes = _Axes(
        _decades([*(x for _, x, _ in points), *ridges]), _decades([*(y for _, _, y in points), peak])
    )
    parts = [
        *_grid(axes),
        *_roofs(axes, peak, bandwidths),
        *(_circle(axes, row, x, y) for row, x, y in sorted(points, key=lambda point: -point[0].share)),
        f'<text x="{_LEFT}" y="24">{escape(title)}: {threads} threads</text>',
    ]
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', f"<style>{_STYLE}</style>", *parts, "</svg>", ""]
    )


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Powers of ten that values are between, with some room."""
    low, high = floor(log10(min(values)) - 0.1), ceil(log10(max(values)) + 0.1)
    return low, max(high, low + 1)


def _grid(axes: _Axes) -> Iterator[str]:
    for power in range(axes.x[0], axes.x[1] + 1):
        (x, bottom), (_, top) = (axes.at(10.0**power, 10.0**end) for end in axes.y)
        yield f'<path class="grid" d="M{x} {bottom}V{top}"/>'
        yield f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{10.0**power:g}</text>'
    for power in range(axes.y[0], axes.y[1] + 1):
        (left, y), (right, _) = (axes.at(10.0**end, 10.0**power) for end in axes.x)
        yield f'<path class="grid" d="M{left} {y}H{right}"/>'
        yield f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{10.0**power:g}</text>'
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    yield f'<text x="{middle}" y="{_HEIGHT - 18}" text-anchor="middle">operations a byte</text>'
    yield f'<text x="{_LEFT}" y="{_TOP - 2}">GFLOP/s</text>'


def _roofs(axes: _Axes, peak: float, bandwidths: Sequence[float]) -> Iterator[str]:
    """The bound of each bandwidth up to the peak of arithmetic, and that of arithmetic."""
    end = 10.0 ** axes.x[1]
    for kind, bandwidth in zip(("memory", "cache"), bandwidths, strict=True):
        begin = max(10.0 ** axes.x[0], 10.0 ** axes.y[0] / bandwidth)
        corners = [(begin, begin * bandwidth), (peak / bandwidth, peak), (end, peak)]
        path = " L".join(f"{x} {y}" for x, y in (axes.at(*corner) for corner in corners))
        label = f"{kind}: {bandwidth:.0f} GB/s, peak: {peak:.0f} GFLOP/s"
        yield f'<path class="roof {kind}" d="M{path}"><title>{label}</title></path>'


def _circle(axes: _Axes, row: ProfileRow, intensity: float, gflops: float) -> str:
    """A kernel: shown when pointed at are its nodes and figures."""
    x, y = axes.at(intensity, gflops)
    about = (
        f"{row.name} ({', '.join(row.nodes)}): {row.microseconds:.1f} us, {row.share:.1f} %, "
        f"{gflops:.1f} GFLOP/s, {row.gigabytes_per_second:.1f} GB/s, {row.percent_of_peak:.0f} % of peak"
    )
    radius = round(3 + 2.2 * row.share**0.5, 1)
    name = f'<text x="{x + radius + 2}" y="{y + 4}">{escape(row.name)}</text>' if row.share >= 5 else ""
    circle = f'<circle class="kernel" data-kernel={quoteattr(row.name)} cx="{x}" cy="{y}" r="{radius}">'
    return f"{circle}<title>{escape(about)}</title></circle>{name}"
