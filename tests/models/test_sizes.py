"""Dimensions that a model leaves open: which sizes the tests run it in."""

from __future__ import annotations

from pathlib import Path

import onnx

from benchmarks.zoo import F32_MODELS, OPEN_MODELS, QUANTIZED_MODELS

ELSEWHERE = ("silero_if",)
"""Models whose sizes `test_control_flow_models.py` runs."""


def test_every_open_dimension_has_three_sizes(models_folder: Path) -> None:
    """`test_models.py` runs one compilation of each model in three sizes of what it leaves open."""
    known = {**F32_MODELS, **QUANTIZED_MODELS, **OPEN_MODELS}
    for path in sorted([*models_folder.glob("*.onnx"), *models_folder.glob("skeletons/*.onnx")]):
        graph = onnx.load(path, load_external_data=False).graph
        constants = {tensor.name for tensor in graph.initializer}
        for info in graph.input:
            if path.stem in ELSEWHERE or info.name in constants:
                continue
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                if not dim.HasField("dim_value"):
                    model = known[path.stem]
                    shapes = ({}, *model.sizes)
                    sizes = {shape.get(info.name, model.inputs[info.name].shape)[axis] for shape in shapes}
                    assert len(sizes) == 3, (path.stem, info.name, axis)
