"""Models of one TFLite operator each, as data: operands, options and the types of the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.frontends.tflite.models import Array, ModelBuilder, Quantized, reference, schema


@dataclass(frozen=True)
class X:
    """An input: random numbers between two bounds."""

    shape: Sequence[int]
    dtype: str = "float32"
    low: float = -2.0
    high: float = 2.0
    quantized: Quantized | None = None

    def sample(self, rng: np.random.Generator) -> Array:
        """Random elements."""
        if self.dtype == "bool":
            return rng.integers(0, 2, self.shape).astype(bool)
        if self.dtype.startswith("float"):
            return rng.uniform(self.low, self.high, self.shape).astype(self.dtype)
        info = np.iinfo(self.dtype)
        low, high = (info.min, info.max) if self.quantized is not None else (self.low, self.high)
        return rng.integers(int(low), int(high), self.shape, endpoint=True).astype(self.dtype)


@dataclass(frozen=True)
class C:
    """A constant operand."""

    data: Array
    quantized: Quantized | None = None


@dataclass(frozen=True)
class Y:
    """A result."""

    dtype: str = "float32"
    quantized: Quantized | None = None


Operand = X | C | None


@dataclass(frozen=True)
class Case:
    """A model of one operator."""

    operator: str
    operands: Sequence[Operand]
    table: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    results: Sequence[Y] = (Y(),)
    title: str = ""

    @property
    def name(self) -> str:
        """A name for the test."""
        return f"{self.operator.lower()}{'-' if self.title else ''}{self.title}"

    def inputs(self) -> list[Array]:
        """The elements of the inputs."""
        rng = np.random.default_rng(len(self.name))
        return [each.sample(rng) for each in self.operands if isinstance(each, X)]

    def built(self) -> tuple[bytes, list[Array], list[Array]]:
        """The model, with the shapes of the results that LiteRT finds, the inputs, and LiteRT's results."""
        inputs = self.inputs()
        shapes = [each.shape for each in reference(self._model([[]] * len(self.results)), inputs)]
        model = self._model(shapes)
        return model, inputs, reference(model, inputs)

    def _model(self, shapes: Sequence[Sequence[int]]) -> bytes:
        m, numbers = ModelBuilder(), list[int]()
        for i, each in enumerate(self.operands):
            if each is None:
                numbers.append(-1)
            elif isinstance(each, X):
                numbers.append(m.input(f"x{i}", each.shape, each.dtype, quantized=each.quantized))
            else:
                numbers.append(m.constant(f"c{i}", each.data, each.quantized))
        outputs = [
            m.tensor(f"y{i}", shape, each.dtype, quantized=each.quantized)
            for i, (each, shape) in enumerate(zip(self.results, shapes, strict=True))
        ]
        m.operator(self.operator, numbers, outputs, self.table, **self.options)
        return m.finish(outputs)


def f(*shape: int, low: float = -2.0, high: float = 2.0) -> X:
    """An input of floats."""
    return X(shape, "float32", low, high)


def n(*shape: int, low: int = -9, high: int = 9, dtype: str = "int32") -> X:
    """An input of whole numbers."""
    return X(shape, dtype, low, high)


def q(*shape: int, scale: float = 0.05, zero: int = 3, dtype: str = "int8") -> X:
    """An input of codes."""
    return X(shape, dtype, quantized=Quantized(scale, zero))


def yq(scale: float = 0.05, zero: int = 3, dtype: str = "int8") -> Y:
    """A result of codes."""
    return Y(dtype, Quantized(scale, zero))


def ints(*numbers: Any, dtype: str = "int32") -> C:
    """A constant of whole numbers."""
    return C(np.array(numbers[0] if len(numbers) == 1 else numbers, dtype))


def w(*shape: int, seed: int = 0) -> C:
    """A constant of floats."""
    return C(np.random.default_rng(seed + len(shape)).uniform(-1, 1, shape).astype(np.float32))


def wq(*shape: int, axis: int = 0, per_axis: bool = True) -> C:
    """A constant of codes, by default with a scale for each index of an axis."""
    rng = np.random.default_rng(7)
    scale: Any = rng.uniform(0.01, 0.03, shape[axis]).astype(np.float32).tolist() if per_axis else 0.02
    return C(rng.integers(-127, 128, shape).astype(np.int8), Quantized(scale, 0, axis))


def bq(weights: C, scale: float = 0.05, dtype: str = "int32") -> C:
    """The bias of codes for the weights of a layer and the scale of its input."""
    assert weights.quantized is not None
    scales = np.atleast_1d(np.asarray(weights.quantized.scale, np.float32)) * np.float32(scale)
    count = weights.data.shape[weights.quantized.axis]
    data = np.random.default_rng(8).integers(-500, 500, count).astype(dtype)
    return C(data, Quantized(scales.tolist()))


def same_or_valid(padding: str, stride: int = 1, **more: Any) -> dict[str, Any]:
    """Options of windows."""
    return dict(padding=getattr(schema().Padding, padding), strideW=stride, strideH=stride, **more)


def act(name: str) -> int:
    """The number of a fused activation."""
    return int(getattr(schema().ActivationFunctionType, name))


def element(name: str) -> int:
    """The number of an element type."""
    return int(getattr(schema().TensorType, name))
