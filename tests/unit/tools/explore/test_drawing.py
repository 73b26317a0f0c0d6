"""Folded drawings: groups by module path, blocks that are repeated, and what is inside each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepwell.tools.explore.drawing import drawing_of


def drawn(names: Sequence[str], kernels: Sequence[str] = ()) -> Any:
    """The drawing of a chain of nodes; a name is `module/op`, the kernel of each is that of its op."""
    nodes: list[dict[str, object]] = []
    calls: list[dict[str, object]] = []
    for i, name in enumerate(names):
        module, _, op = name.rpartition("/")
        long = f"{op}With{'A' * 20}LongName"
        nodes.append({"id": f"n{i}", "name": f"{name}_{i}", "op": long, "module": module})
        kernel = kernels[i] if kernels else f"k{op}"
        calls.append({"id": f"c{i}", "kernel": kernel, "nodes": [f"n{i}"]})
    edges: list[dict[str, object]] = [
        {"from": f"n{i}", "to": f"n{i + 1}"} for i in range(len(names) - 1)
    ]  # fmt: skip
    return drawing_of(nodes, edges, calls)


def outline(drawing: Any) -> list[Any]:
    """The names of items, with times and the outlines of what is inside them."""
    return [
        (item["name"], item["times"], outline(item)) if "items" in item else item["name"]
        for item in drawing["items"]
    ]


def test_nodes_are_in_groups_by_their_modules_with_what_is_between_and_inside():
    found = drawn(["a/Conv", "a/Relu", "b/Conv", "b/Tanh", "b/Relu"])["folded"]
    assert outline(found) == [
        ("a", 1, ["a/Conv_0", "a/Relu_1"]),
        ("b", 1, ["b/Conv_2", "b/Tanh_3", "b/Relu_4"]),
    ]
    assert found["edges"] == [(0, 1)]
    a, b = found["items"]
    assert a["edges"] == [(0, 1)] and b["edges"] == [(0, 1), (1, 2)]
    assert a["nodes"] == ["n0", "n1"] and len(b["x"]) == len(b["routes"]) + 1 == 3


def test_equal_blocks_in_a_row_are_one_item():
    names = [
        f"layer.{i}/{part}/{op}" for i in range(4) for part in ("attn", "mlp") for op in ("MatMul", part)
    ]
    (item,) = drawn(names)["folded"]["items"]
    assert (item["name"], item["times"], len(item["nodes"])) == ("layer/0/attn", 4, 16)
    assert [inner["name"] for inner in item["items"]][:3] == ["layer/0/attn", "layer/0/mlp", "layer/1/attn"]


def test_blocks_of_other_kernels_are_not_equal():
    names = [f"layer.{i}/{op}" for i in range(4) for op in ("MatMul", "Add")]
    kernels = ["k0", "k1", "k0", "k1", "k2", "k1", "k0", "k1"]
    assert [item["times"] for item in drawn(names, kernels)["folded"]["items"]] == [1, 1, 1, 1]


def test_nodes_without_modules_fold_where_they_repeat():
    found = drawn(["Conv", *["MatMul", "Add", "Relu"] * 3, "Softmax"])["folded"]
    assert outline(found)[0] == "Conv_0" and outline(found)[2] == "Softmax_10"
    assert (found["items"][1]["name"], found["items"][1]["times"]) == ("MatMul_1", 3)
    assert drawn(["Conv", "Relu", "Conv", "Tanh"])["folded"] is None
    assert drawn(["Relu"] * 4)["folded"] is None, "a few equal nodes are no block"
