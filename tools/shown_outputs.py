"""The outputs of a run: a line for each, and a file of all."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from stepwell.runtime.files.whole_files import whole_file
from stepwell.runtime.interface import Array
from stepwell.tools.json_facts import Facts


def described_array(name: str, array: Array) -> tuple[Facts, str]:
    """An array's type, shape and, of numbers, least, mean and largest: as JSON values, and as a line."""
    numbers: dict[str, float] = {}
    if array.size and array.dtype.kind in "fiub":
        values = array.astype(np.float64)
        numbers = {"min": float(values.min()), "mean": float(values.mean()), "max": float(values.max())}
    text = "".join(f"  {which} {value:.6g}" for which, value in numbers.items())
    facts: Facts = {"name": name, "dtype": array.dtype.name, "shape": array.shape, **numbers}
    return facts, f"{name}: {array.dtype.name}{list(array.shape)}{text}"


def show_outputs(args: Namespace, outputs: Mapping[str, Array]) -> None:
    """Print a line for each output, and add them to the facts of a command."""
    described = [described_array(name, array) for name, array in outputs.items()]
    args.facts["outputs"] = [facts for facts, _ in described]
    for _, line in described:
        print(line)


def write_outputs(path: Path, outputs: Mapping[str, Array]) -> None:
    """Write the outputs of a run, by name."""
    with whole_file(path) as file:
        np.savez(file, allow_pickle=False, **outputs)
    print(f"wrote {path}", file=sys.stderr)
