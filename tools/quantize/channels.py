"""Statistics of channels over samples: what `smooth`, `gptq`, `awq` and bias correction are computed of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.passes import ModulePass

from stepwell.runtime.interface import Array
from stepwell.tools.quantize.data import Feed
from stepwell.tools.quantize.source import Source, made_pass

Doubles: TypeAlias = npt.NDArray[np.float64]

MOMENT_BYTES = 256 << 20
"""The most bytes of matrices of moments that one run returns, unless a single one has more."""


class Channels(NamedTuple):
    """The statistics of each channel: greatest magnitude, mean magnitude, mean."""

    greatest: Doubles
    magnitude: Doubles
    average: Doubles


def channels_of(
    source: Source, annotate: ModulePass, keys: Sequence[str], feeds: Sequence[Feed], threads: int | None
) -> dict[str, Channels]:
    """The statistics of the channels of activations by key, over samples."""
    found: dict[str, Channels] = {}
    for outputs in _runs(source, annotate, "channels", keys, feeds, threads):
        for key in keys:
            each = Channels(*(outputs[f"{kind} {key}"].astype(np.float64) for kind in Channels._fields))
            known = found.get(key, Channels(*(np.zeros_like(each.greatest) for _ in Channels._fields)))
            found[key] = Channels(
                np.maximum(known.greatest, each.greatest),
                known.magnitude + each.magnitude / len(feeds),
                known.average + each.average / len(feeds),
            )
    return found


def moments_of(
    source: Source, annotate: ModulePass, keys: Sequence[str], feeds: Sequence[Feed], threads: int | None
) -> dict[str, Doubles]:
    """The sums of products of each two channels of activations by key, over samples."""
    found: dict[str, Doubles] = {}
    for outputs in _runs(source, annotate, "moments", keys, feeds, threads):
        for key in keys:
            each = outputs[f"moments {key}"].astype(np.float64)
            found[key] = found[key] + each if key in found else each
    return found


def _runs(
    source: Source,
    annotate: ModulePass,
    of: str,
    keys: Sequence[str],
    feeds: Sequence[Feed],
    threads: int | None,
) -> Iterator[Mapping[str, Array]]:
    """The outputs of a model with statistics, for each sample."""
    collect = made_pass("collect-statistics", of=of, keys=tuple(keys))
    model = source.compiled(source.level_1(annotate, collect), threads)
    for feed in feeds:
        yield model.run(feed)


def in_parts(sizes: Iterable[tuple[str, int]]) -> list[list[str]]:
    """Keys in parts whose matrices of moments go together; `sizes` are the numbers of channels."""
    parts: list[list[str]] = []
    bytes = 0
    for key, size in sizes:
        bytes += 8 * size * size
        if not parts or bytes > MOMENT_BYTES:
            parts.append([])
            bytes = 8 * size * size
        parts[-1].append(key)
    return parts
