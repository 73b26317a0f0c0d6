"""The graph of a model as its file has it: nodes, values, weights, and the edges between nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects import graph, onnx
from stepwell.dialects.locations import node_name, node_names
from stepwell.dialects.types import Tensor, WeightAttr, dims_of, dtype_of
from stepwell.runtime.errors import StepwellError
from stepwell.tools.explore.kernel_steps import Data

MOST_ATTRIBUTE_CHARS = 400
_CONSTANTS = (onnx.ConstantOp, graph.ConstantOp)
_SEPARATORS = "/."


@dataclass
class ModelGraph:
    """Nodes, values, weights and edges, as JSON values; `ids` maps a node's name to its id."""

    nodes: list[Data] = field(default_factory=list[Data])
    values: list[Data] = field(default_factory=list[Data])
    weights: list[Data] = field(default_factory=list[Data])
    edges: list[Data] = field(default_factory=list[Data])
    ids: dict[str, str] = field(default_factory=dict[str, str])
    _known: dict[SSAValue, Data] = field(default_factory=dict[SSAValue, Data])

    @classmethod
    def of(cls, main: func.FuncOp) -> ModelGraph:
        """The graph of a function, with the nodes of the bodies of control flow."""
        found = cls()
        names = main.arg_attrs.data if main.arg_attrs is not None else ()
        for arg, attributes in zip(main.args, names, strict=False):
            name = attributes.data.get("graph.name")
            found._value(arg, name.data if isinstance(name, StringAttr) else None, None)
        for op in main.walk():
            if isinstance(op, _CONSTANTS):
                found._weight(op)
            elif op is not main and op.results:
                found._node(op)
        return found

    def complete(self, types: Mapping[str, list[Attribute]]) -> None:
        """Fill in the types of results by node name, where the model's file has none."""
        for node in self.nodes:
            found = types.get(str(node["name"]), [])
            outputs = [value for value in self.values if value["producer"] == node["id"]]
            if len(found) == len(outputs):
                for value, type in zip(outputs, found, strict=True):
                    if value["dtype"] == "":
                        value |= _type_data(type)

    def _node(self, op: Operation) -> None:
        name = node_name(op) or f"{op.name}_{len(self.nodes)}"
        id = f"n{len(self.nodes)}"
        self.ids.setdefault(name, id)
        inputs = [self._value(value, None, None) for value in op.operands]
        kind = op.name.removeprefix("onnx.").removeprefix("graph.")
        node: Data = {"id": id, "name": name, "op": kind, "module": _module(name)}
        node |= {"inputs": [value["id"] for value in inputs], "attrs": dict(_attributes(op))}
        self.nodes.append(node)
        for value in inputs:
            cast("list[str]", value["users"]).append(id)
            if value["producer"] is not None:
                edge: Data = {"from": value["producer"], "to": id, "value": value["id"]}
                self.edges.append(edge)
        written = op.attributes.get("onnx.values", ArrayAttr[StringAttr](()))
        names = [name.data for name in cast("ArrayAttr[StringAttr]", written)]
        names += [""] * (len(op.results) - len(names))
        outputs = [self._value(r, n or None, id) for r, n in zip(op.results, names, strict=False)]
        node["outputs"] = [value["id"] for value in outputs]

    def _value(self, value: SSAValue, name: str | None, producer: str | None) -> Data:
        if (known := self._known.get(value)) is not None:
            return known
        shown = name or value.name_hint or f"value{len(self.values)}"
        data: Data = {"id": f"v{len(self.values)}", "name": shown, **_type_data(value.type)}
        data |= {"producer": producer, "users": []}
        self._known[value] = data
        self.values.append(data)
        return data

    def _weight(self, op: Operation) -> None:
        hint = node_name(op) or op.results[0].name_hint
        value = self._value(op.results[0], hint, None)
        held = next((v for v in op.properties.values() if isinstance(v, WeightAttr)), None)
        facts = {key: value[key] for key in ("name", "shape", "bytes")}
        self.weights.append({**facts, "hash": held.hash.data if held is not None else None})


def _type_data(type: Attribute) -> Data:
    """Shape (open sizes as text), dtype and bytes of a type; empty where the file says nothing."""
    if not isinstance(type, TensorType):
        return {"shape": None, "dtype": "", "bytes": None}
    tensor = cast(Tensor, type)
    try:
        dims, dtype = dims_of(tensor), dtype_of(tensor.element_type)
    except StepwellError:
        return {"shape": None, "dtype": str(tensor.element_type), "bytes": None}
    shape = [dim.value if dim.is_static else str(dim) for dim in dims]
    static = all(dim.is_static for dim in dims)
    size = prod(dim.value for dim in dims) * dtype.itemsize if static else None
    return {"shape": shape, "dtype": dtype.name, "bytes": size}


def result_types(main: func.FuncOp) -> dict[str, list[Attribute]]:
    """By node name the types of the results of the node's last op."""
    found: dict[str, list[Attribute]] = {}
    for op in main.walk():
        names = node_names(op.location)
        if len(names) == 1 and op.results:
            found[names[0]] = [result.type for result in op.results]
    return found


def _attributes(op: Operation) -> Iterator[tuple[str, str]]:
    for name, value in (*op.properties.items(), *op.attributes.items()):
        if not name.startswith("onnx.") and not isinstance(value, WeightAttr | DenseIntOrFPElementsAttr):
            yield name, str(value)[:MOST_ATTRIBUTE_CHARS]


def _module(name: str) -> str:
    """The path of modules in a node's name: all but its last part."""
    end = max(name.rfind(separator) for separator in _SEPARATORS)
    return name[: max(end, 0)].strip(_SEPARATORS)
