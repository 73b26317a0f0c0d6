"""The plot of the benchmark figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stepwell.tools.measure.bench import ModelResult


def plot_ratios(results: Sequence[ModelResult], path: Path) -> None:
    """Bars of peer time / our time on one thread, a group for each model; the line marks equal speed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    chosen = [r for r in results if r.threads == 1]
    peers = sorted({p for r in chosen for p in r.ratios})
    figure: Any
    axes: Any
    figure, axes = pyplot.subplots(figsize=(max(6, 0.5 * len(chosen)), 4))
    width = 0.8 / max(1, len(peers))
    for index, peer in enumerate(peers):
        places = [i + index * width for i in range(len(chosen))]
        heights = [r.ratios[peer].median if peer in r.ratios else 0 for r in chosen]
        axes.bar(places, heights, width, label=peer)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks(
        [i + 0.4 - width / 2 for i in range(len(chosen))], [r.model for r in chosen], rotation=60, ha="right"
    )
    axes.set_ylabel("peer's time / our time, 1 thread")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)
