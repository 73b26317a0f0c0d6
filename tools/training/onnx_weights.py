"""Initializers of ONNX files as arrays, and files with other ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import onnx
from onnx import numpy_helper

from stepwell.runtime.interface import Array


def read_weights(path: Path, names: Collection[str]) -> dict[str, Array]:
    """The initializers of a file with these names, in the order of the names."""
    folder = str(path.parent)
    model = onnx.load(str(path), load_external_data=False)  # pyright: ignore[reportUnknownMemberType]
    found = {each.name: each for each in model.graph.initializer}
    return {name: numpy_helper.to_array(found[name], folder) for name in names}


def with_weights(path: Path, weights: Mapping[str, Array]) -> bytes:
    """A model's file with other initializers, inside of the file, and nothing else changed."""
    model = onnx.load(str(path))  # pyright: ignore[reportUnknownMemberType]
    for each in model.graph.initializer:
        if each.name in weights:
            each.CopyFrom(numpy_helper.from_array(weights[each.name], each.name))
    return model.SerializeToString()
