"""The page of a quantization's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

from stepwell.dialects.quantization.plan import PlanEntry
from stepwell.dialects.quantization.ranges import Statistics
from stepwell.tools.quantize.result import Histogram, Layer

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#222}
table{border-collapse:collapse;width:100%}th,td{padding:.25em .6em;text-align:right;
border-bottom:1px solid #ddd}
th:first-child,td:first-child,td.t{text-align:left}tr.f32{background:#fff4e0}svg{display:block}
.summary{white-space:pre-wrap;background:#f4f4f4;padding:1em}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}tr.f32{background:#3a2f18}
.summary{background:#222}th,td{border-color:#333}}"""
_WIDTH, _HEIGHT, _BARS = 160, 28, 80


def page_of(
    title: str, summary: Sequence[str], layers: Sequence[Layer], histograms: Mapping[str, Histogram]
) -> str:
    """The report as one page, which loads nothing."""
    heads = ("layer", "operator", "decision", "loss alone", "SQNR alone, dB", "SQNR of weights, dB")
    heads += ("clipped", "µs f32", "µs", "bytes f32", "bytes", "activations and their cut")
    rows = [_row(layer, histograms.get(layer.name)) for layer in layers]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape(title)}: quantized</title><style>{_STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1><p class=summary>{escape(chr(10).join(summary))}</p>",
            f"<table><tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>",
            *rows,
            "</table></body></html>",
            "",
        ]
    )


def _row(layer: Layer, histogram: Histogram | None) -> str:
    decision = layer.decision if layer.decision != "f32" else f"f32, {layer.reason}"
    texts = [f"<td>{escape(layer.name)}</td>", f"<td class=t>{escape(layer.op)}</td>"]
    texts.append(f"<td class=t>{escape(decision)}</td>")
    numbers = (layer.loss_alone, layer.sqnr_alone, layer.weight_sqnr, layer.clipped, layer.us_f32, layer.us)
    texts += [f"<td>{'' if number is None else format(number, '.4g')}</td>" for number in numbers]
    texts += [f"<td>{layer.bytes_f32}</td><td>{layer.bytes}</td>"]
    texts.append(f"<td>{'' if histogram is None else _drawn(histogram)}</td>")
    return f"<tr class={'f32' if layer.decision == 'f32' else 'q'}>{''.join(texts)}</tr>"


def histogram_of(entry: PlanEntry, statistics: Statistics) -> Histogram:
    """The histogram of an activation, in few bars, and the range of its codes."""
    counts = list(statistics.counts)
    edges = [round(i * len(counts) / _BARS) for i in range(_BARS + 1)]
    bars = [sum(counts[a:b]) for a, b in pairwise(edges)]
    zero = entry.zero_point[0] if entry.zero_point else 0
    low, high = (0 - zero, 255 - zero) if entry.to == "u8" else (-128, 127)
    return Histogram(statistics.min, statistics.max, bars, low * entry.scale[0], high * entry.scale[0])


def _drawn(histogram: Histogram) -> str:
    """A histogram as a drawing: bars by the root of counts, grey beyond the codes."""
    most = max(histogram.bars, default=0) or 1
    width = _WIDTH / max(len(histogram.bars), 1)
    span = (histogram.max - histogram.min) or 1.0
    parts: list[str] = []
    for number, count in enumerate(histogram.bars):
        middle = histogram.min + (number + 0.5) * span / len(histogram.bars)
        fill = "#3b82f6" if histogram.lo <= middle <= histogram.hi else "#bbb"
        height = _HEIGHT * (count / most) ** 0.5
        parts.append(
            f'<rect x="{number * width:.1f}" y="{_HEIGHT - height:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" fill="{fill}"/>'
        )
    label = f"{histogram.min:.4g} to {histogram.max:.4g}, codes {histogram.lo:.4g} to {histogram.hi:.4g}"
    head = f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{label}">'
    return f"{head}<title>{label}</title>{''.join(parts)}</svg>"


def histograms_of(
    entries: Sequence[PlanEntry], statistics: Mapping[str, Statistics]
) -> Mapping[str, Histogram]:
    """The histograms of the first operands of layers, where counts are known."""
    found: dict[str, Histogram] = {}
    for entry in entries:
        known = statistics.get(f"{entry.node}:{entry.operand}")
        if entry.operand == "0" and known is not None and known.counts:
            found[entry.node] = histogram_of(entry, known)
    return found
