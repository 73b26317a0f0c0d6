"""ONNX files with other initializers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import onnx
from onnx import numpy_helper

from stepwell.runtime.interface import Array


def with_weights(path: Path, weights: Mapping[str, Array]) -> bytes:
    """A model's file with other initializers, inside of the file, and nothing else changed."""
    model = onnx.load(str(path))  # pyright: ignore[reportUnknownMemberType]
    for each in model.graph.initializer:
        if each.name in weights:
            made = numpy_helper.from_array(weights[each.name], each.name)
            if each.HasField("doc_string"):
                made.doc_string = each.doc_string
            each.CopyFrom(made)
    return model.SerializeToString()
