"""
A last layer that separates kinds of images: with drawn weights all images have the same class.

Images are patterns, one of each kind, with noise. The weights of the last layer are those of ridge regression
from the features that the layers before it compute of some images of each kind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

import stepwell as sw

KINDS, SIDE = 10, 224
_FIRST, _TAUGHT = 1000, 8
"""The first of the images that the weights are computed from, and how many of each kind these are."""
_NOISE, _RIDGE, _UNUSED = 0.2, 1.0, -1.0
"""Deviation of the noise, weight of the squares of the coefficients, score of the other classes."""
Array = npt.NDArray[Any]


def image(number: int) -> Array:
    """The image of a number: a pattern of the kind `number % KINDS`, with noise."""
    kind = number % KINDS
    rng = np.random.default_rng([1, kind])
    cell = 8 << kind % 4
    cells = rng.standard_normal((1, 3, -(-SIDE // cell), -(-SIDE // cell)))
    pattern = 0.7 * np.kron(cells, np.ones((cell, cell)))[:, :, :SIDE, :SIDE]
    noise = np.random.default_rng([2, number]).standard_normal(pattern.shape)
    return (pattern + 1.2 * rng.standard_normal((1, 3, 1, 1)) + _NOISE * noise).astype(np.float32)


def taught(path: Path, made: Path) -> Path:
    """A copy, `made`, of a quantized resnet18 with a last layer that separates the kinds of images."""
    model = onnx.load(path)
    product = next(node for node in model.graph.node if node.op_type == "Gemm")
    last = next(node for node in model.graph.node if product.output[0] in node.input)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    producers = {output: node.input for node in model.graph.node for output in node.output}
    feature, weight, bias = (producers[name] for name in product.input)
    inputs, features = [model.graph.input[0].name], product.input[0]
    model.graph.value_info.append(helper.make_tensor_value_info(features, onnx.TensorProto.FLOAT, None))
    onnx.save(onnx.utils.Extractor(model).extract_model(inputs, [features]), made)
    weights, biases = _regression(made)
    scale = np.abs(weights).max() / 127
    sums = scale * numpy_helper.to_array(constants[feature[1]])
    numbers = len(numpy_helper.to_array(constants[weight[1]]))
    rows = np.zeros((numbers, weights.shape[1]))
    rows[:KINDS], offsets = weights / scale, np.full(numbers, _UNUSED)
    offsets[:KINDS] = biases
    replaced = {
        weight[0]: np.rint(rows).astype(np.int8),
        weight[1]: np.full(numbers, scale, np.float32),
        bias[0]: np.rint(offsets / sums).astype(np.int32),
        bias[1]: np.full(numbers, sums, np.float32),
        last.input[1]: np.float32(2.0 / 255),
        last.input[2]: np.uint8(128),
    }
    for name, array in replaced.items():
        constants[name].CopyFrom(numpy_helper.from_array(np.asarray(array), name))
    onnx.save(model, made)
    return made


def _regression(path: Path) -> tuple[Array, Array]:
    """Weights and biases by which features tell kinds apart, scores about -1/2 to 1."""
    compute: Any = sw.compile(path)
    numbers = range(_FIRST, _FIRST + KINDS * _TAUGHT)
    features = np.concatenate([compute(image(number)) for number in numbers]).astype(np.float64)
    kinds = np.eye(KINDS)[[number % KINDS for number in numbers]] - 1 / KINDS
    mean = features.mean(0)
    centred = features - mean
    squares = centred.T @ centred + _RIDGE * np.eye(len(mean))
    weights = np.linalg.solve(squares, centred.T @ kinds).T
    return weights, -weights @ mean
