"""Measurement of models on another machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc import Connection
from stepwell.tools.driver.compile import compile
from stepwell.tools.inputs import completed_inputs


class TimesThere(NamedTuple):
    """The times of a model's calls on a machine, in seconds."""

    model: str
    threads: int
    seconds: tuple[float, ...]


def bench_there(
    session: Connection, path: Path, threads: int, rounds: int, shapes: Mapping[str, Sequence[int]], seed: int
) -> TimesThere:
    """
    The times of a model in a session; of an .onnx or .mlir file it is compiled for the machine there.

    Args: `rounds` is the number of measured calls; `shapes` fixes inputs that the model leaves open.
    """
    model: CompiledModel | Path = path
    if path.suffix != ".stepwell":
        model = compile(path, target=session.target(), input_shapes=dict(shapes))
    there = session.load(model, threads=threads, name=path.stem)
    feeds = completed_inputs(there.interface, {}, seed, dict(shapes), "random")
    timing = session.time(there, [feeds], number=1, repeat=rounds)
    return TimesThere(path.stem, there.threads, timing.seconds)
