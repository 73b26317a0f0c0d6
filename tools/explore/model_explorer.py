"""The explorer's data as a graph collection, the format of Model Explorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from stepwell.tools.explore.kernel_steps import Data


def graph_collection(data: Mapping[str, object]) -> Data:
    """The nodes of the explorer's data, with kernels and times as attributes, and edges by value."""
    values = {value["id"]: value for value in cast("list[Data]", data["values"])}
    calls = {call["id"]: call for call in cast("list[Data]", data["calls"])}
    nodes = [_node(node, values, calls) for node in cast("list[Data]", data["nodes"])]
    return {"label": data["title"], "graphs": [{"id": data["title"], "nodes": nodes}]}


def _node(node: Data, values: Mapping[object, Data], calls: Mapping[object, Data]) -> Data:
    own = [calls[id] for id in cast("Sequence[object]", node["kernels"])]
    attributes = {"name": node["name"], **cast("dict[str, object]", node["attrs"])}
    attributes |= {"kernel": " ".join(str(call["kernel"]) for call in own), "note": node["note"]}
    for call in own:
        if (us := cast("Data | None", call["us"])) is not None:
            attributes |= {f"µs of {call['kernel']}": us["median"]}
    edges: list[Data] = []
    for position, id in enumerate(cast("Sequence[str]", node["inputs"])):
        if (producer := values[id]["producer"]) is not None:
            edges.append({
                "sourceNodeId": producer,
                "sourceNodeOutputId": id,
                "targetNodeInputId": str(position),
            })  # fmt: skip
    outputs = [values[id] for id in cast("Sequence[str]", node["outputs"])]
    return {
        "id": node["id"],
        "label": node["op"],
        "namespace": str(node["module"]).replace(".", "/"),
        "attrs": _pairs(attributes),
        "incomingEdges": edges,
        "outputsMetadata": [
            {"id": value["id"], "attrs": _pairs({"tensor_shape": _type_of(value), "name": value["name"]})}
            for value in outputs
        ],
    }


def _pairs(attributes: Mapping[str, object]) -> list[Mapping[str, str]]:
    return [{"key": key, "value": str(value)} for key, value in attributes.items() if value not in ("", None)]


def _type_of(value: Data) -> str:
    shape = cast("Sequence[object] | None", value["shape"])
    return "" if shape is None else f"{value['dtype']}[{', '.join(map(str, shape))}]"
