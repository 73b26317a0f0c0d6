"""Grows a random ONNX graph node by node; only what the reference evaluator can run stays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from stepwell.tools.check.reference import reference_evaluator

Array = npt.NDArray[Any]

MOST_ELEMS = 4096
LARGEST = 50.0
"""Values beyond it are thrown away: nothing grows over 40 nodes until it overflows."""
FLOATS = ("float32", "float64", "float16")
DOMAINS = {"ai.onnx.ml": 5, "ai.onnx.preview.training": 1}
"""The versions of what is no part of ONNX itself."""
_SYMBOLS = "NMKL"
_WIDTHS = ("float64", "float32", "float16")


@dataclass(frozen=True)
class Value:
    """A value of the graph with what it is for the inputs that were drawn."""

    name: str
    array: Array
    exact: bool
    """No rounding went into it: an op that jumps, such as Floor, may read it."""
    precision: str = "float64"
    """The narrowest float type that something was rounded to on the way here."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape for these inputs."""
        return self.array.shape

    @property
    def dtype(self) -> str:
        """The name of its element type."""
        return self.array.dtype.name


class Refused(Exception):
    """A node that does not fit: the reference refuses it, or the values are not fit for comparison."""


class GraphBuilder:
    """The graph so far."""

    def __init__(self, seed: int, opset: int):
        self.rng = np.random.default_rng(seed)
        self.opset = opset
        self.values: list[Value] = []
        self.nodes: list[NodeProto] = []
        self._initializers: list[TensorProto] = []
        self._inputs: list[tuple[Value, list[str | int]]] = []

    def chance(self, share: float) -> bool:
        """True that often."""
        return bool(self.rng.random() < share)

    def integer(self, low: int, high: int) -> int:
        """A number of `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def choice(self, options: Sequence[Any]) -> Any:
        """One of some options. Raises: Refused when there are none."""
        if not options:
            raise Refused
        return options[int(self.rng.integers(len(options)))]

    def pick(self, fits: Callable[[Value], bool] = lambda value: True) -> Value:
        """A value that fits, later ones more often. Raises: Refused when none does."""
        fitting = [value for value in self.values if fits(value)]
        if self.chance(0.5):
            fitting = fitting[-4:]
        return self.choice(fitting)

    def draw(self, dtype: str, shape: Sequence[int]) -> Array:
        """Random numbers that show errors: of both signs, no round ones."""
        kind = np.dtype(dtype).kind
        if kind == "b":
            return self.rng.integers(0, 2, shape).astype(dtype)
        if kind in "iu":
            return self.rng.integers(0 if kind == "u" else -4, 9, shape).astype(dtype)
        return self.rng.normal(0, 1.5, shape).astype(dtype)

    def add_input(self, dtype: str, shape: Sequence[int], dynamic: bool) -> None:
        """An argument of the model; in dynamic ones most sizes are symbols, equal sizes the same."""
        value = Value(f"x{len(self._inputs)}", self.draw(dtype, shape), exact=True, precision=_width(dtype))
        symbols = {size: _SYMBOLS[i % 4] + str(size) for i, size in enumerate(sorted(set(shape)))}
        dims = [symbols[n] if dynamic and n > 1 and self.chance(0.6) else n for n in shape]
        self._inputs.append((value, dims))
        self.values.append(value)

    def constant(self, array: Array) -> Value:
        """An initializer."""
        value = Value(f"c{len(self._initializers)}", array, exact=True, precision=_width(array.dtype.name))
        self._initializers.append(numpy_helper.from_array(array, value.name))
        return value

    def ints(self, *numbers: int) -> Value:
        """An initializer of i64 numbers, as shapes and axes are."""
        return self.constant(np.array(numbers, np.int64))

    def node(
        self,
        op_type: str,
        inputs: Sequence[Value | None],
        *,
        exact: bool = False,
        precision: str = "float64",
        outputs: int = 1,
        captured: Sequence[Value] = (),
        **attrs: Any,
    ) -> None:
        """
        Add a node, and its results to the values.

        Args: `exact` says that the op itself rounds nothing; its results are exact then if all inputs are;
        `precision` is what it computes in, where that is narrower than its results; `captured` are the values
        that its graphs read from outside.
        Raises: Refused when the reference cannot run it, or the results are too large or not finite.
        """
        names = [f"v{len(self.values)}_{i}" for i in range(outputs)]
        node = helper.make_node(
            op_type, [v.name if v is not None else "" for v in inputs], names, f"n{len(self.nodes)}", **attrs
        )
        given = [*(value for value in inputs if value is not None), *captured]
        self.add([node], given, names, exact=exact, precision=precision)

    def add(
        self,
        nodes: Sequence[NodeProto],
        given: Sequence[Value],
        names: Sequence[str],
        *,
        exact: bool = False,
        precision: str = "float64",
    ) -> None:
        """Add nodes that read the given values; `names` of their results are values from then on."""
        arrays = _evaluate(nodes, given, names, self.opset)
        if any(not _is_fit(array) for array in arrays):
            raise Refused
        exact = exact and all(value.exact for value in given)
        through = [precision, *(v.precision for v in given), *(array.dtype.name for array in arrays)]
        narrowest = max((name for name in through if name in _WIDTHS), key=_WIDTHS.index)
        self.nodes += nodes
        self.values += [Value(n, a, exact, narrowest) for n, a in zip(names, arrays, strict=True)]

    def model(self) -> tuple[ModelProto, dict[str, Array], list[Value]]:
        """The model, inputs for it, and its results as the reference gives them."""
        used = {name for node in self.nodes for name in node.input}
        results = [v for v in self.values[len(self._inputs) :] if v.name not in used or self.chance(0.1)]
        outputs = [
            helper.make_tensor_value_info(
                v.name, helper.np_dtype_to_tensor_dtype(v.array.dtype), [None] * v.array.ndim
            )
            for v in results
        ]
        inputs = [
            helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(v.array.dtype), dims)
            for v, dims in self._inputs
        ]
        graph = helper.make_graph(self.nodes, "random", inputs, outputs, self._initializers)
        return _model(graph, self.opset), {v.name: v.array for v, _ in self._inputs}, results


def _width(dtype: str) -> str:
    return dtype if dtype in _WIDTHS else "float64"


def _is_fit(array: Array) -> bool:
    if array.size > MOST_ELEMS or array.dtype.kind not in "biuf":
        return False
    return array.dtype.kind != "f" or bool(np.all(np.abs(array.astype(np.float64)) <= LARGEST))


def _model(graph: GraphProto, opset: int) -> ModelProto:
    domains = sorted({node.domain for node in graph.node} - {""})
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, DOMAINS[d]) for d in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def _evaluate(
    nodes: Sequence[NodeProto], inputs: Sequence[Value], names: Sequence[str], opset: int
) -> list[Array]:
    """The results of nodes. Raises: Refused."""
    unique = {value.name: value for value in inputs}
    infos = [
        helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(v.array.dtype), list(v.shape))
        for v in unique.values()
    ]
    graph = helper.make_graph(nodes, "some", infos, [helper.make_empty_tensor_value_info(n) for n in names])
    model = _model(graph, opset)
    try:
        # What ONNX's own checker refuses is no model, whatever the evaluator does with it.
        for node in nodes:
            _check_schema(node, opset)
        typed = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = reference_evaluator(model).run(None, {name: v.array for name, v in unique.items()})
    except Exception as error:
        raise Refused from error
    arrays = [np.asarray(result) for result in results]
    if not all(map(_has_type, arrays, typed.graph.output)):
        raise Refused  # the evaluator is wrong: of MaxPool with other pads on each side, for one
    return arrays


def _has_type(array: Array, info: onnx.ValueInfoProto) -> bool:
    """Whether it is what ONNX's own inference knows about it."""
    type = info.type.tensor_type
    if type.elem_type and type.elem_type != helper.np_dtype_to_tensor_dtype(array.dtype):
        return False
    if not type.HasField("shape"):
        return True
    dims = type.shape.dim
    return len(dims) == array.ndim and all(
        not dim.HasField("dim_value") or dim.dim_value == n for dim, n in zip(dims, array.shape, strict=True)
    )


def _check_schema(node: NodeProto, opset: int) -> None:
    """Raises: ValueError when the opset has no such op, or one with other inputs and attributes."""
    try:
        schema = onnx.defs.get_schema(node.op_type, DOMAINS.get(node.domain, opset), node.domain)
    except onnx.defs.SchemaError as error:
        raise ValueError from error
    fits = schema.min_input <= len(node.input) <= schema.max_input
    if not fits or schema.deprecated or {a.name for a in node.attribute} - set(schema.attributes):
        raise ValueError(f"{node.op_type} is another op in opset {opset}")
