"""Where the page draws the nodes of a model: all of them, and folded by module path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from stepwell.tools.explore.kernel_steps import Data
from stepwell.tools.explore.layout import layout

NODE_HEIGHT = 34.0
_CHAR, _PADDING, _LEAST, _MOST = 7.0, 22.0, 70.0, 230.0
"""Pixels of a character of the page's font, around a name, and the bounds of a node's width."""
FOLDED_FROM = 1000
"""Nodes from which on the page opens folded."""


def drawing_of(nodes: Sequence[Data], edges: Sequence[Data], calls: Sequence[Data]) -> Data:
    """
    Two drawings: `full` of all nodes, and `folded`, of groups (None where no node has a module path).

    Nodes are folded by the first parts of their module paths; a group that has the kernels of the group
    before it in the same order is a repetition, which says of whom.
    """
    labels = [max((str(node["name"]), str(node["op"])), key=len) for node in nodes]
    index = {node["id"]: i for i, node in enumerate(nodes)}
    pairs = [(index[edge["from"]], index[edge["to"]]) for edge in edges]
    full = _drawn(labels, pairs)
    full["open"] = "folded" if len(nodes) > FOLDED_FROM else "full"
    members = _groups(nodes)
    folded = None
    if len(members) < len(nodes):
        group_of = {i: g for g, (_, inside) in enumerate(members) for i in inside}
        between = dict.fromkeys((group_of[a], group_of[b]) for a, b in pairs if group_of[a] != group_of[b])
        folded = _drawn([f"{name} ({len(inside)})" for name, inside in members], list(between))
        folded["edges"] = list(between)
        hashes = _sequences(nodes, members, calls)
        folded["groups"] = [
            {"name": name, "nodes": [nodes[i]["id"] for i in inside], "like": hashes.index(hashes[g])}
            for g, (name, inside) in enumerate(members)
        ]
    return {"full": full, "folded": folded}


def _drawn(labels: Sequence[str], pairs: Sequence[tuple[int, int]]) -> Data:
    sizes = [(min(max(_CHAR * len(label) + _PADDING, _LEAST), _MOST), NODE_HEIGHT) for label in labels]
    drawn = layout(sizes, pairs)
    return {
        "x": [round(x, 1) for x in drawn.x],
        "y": [round(y, 1) for y in drawn.y],
        "w": [width for width, _ in sizes],
        "h": NODE_HEIGHT,
        "routes": [[[round(x, 1), round(y, 1)] for x, y in route] for route in drawn.routes],
        "back": [i for i, turned in enumerate(drawn.back) if turned],
        "width": round(drawn.width, 1),
        "height": round(drawn.height, 1),
    }


def _groups(nodes: Sequence[Data]) -> list[tuple[str, list[int]]]:
    """Nodes by the part of the module path that tells apart a few hundred groups; others stay alone."""
    paths = [_parts(str(node["module"])) for node in nodes]
    deepest = max(map(len, paths), default=0)
    for depth in range(deepest, 0, -1):
        found: dict[str, list[int]] = {}
        for i, path in enumerate(paths):
            found.setdefault("/".join(path[:depth]) or str(nodes[i]["name"]), []).append(i)
        if len(found) <= FOLDED_FROM / 4 or depth == 1:
            return list(found.items())
    return [(str(node["name"]), [i]) for i, node in enumerate(nodes)]


def _parts(path: str) -> list[str]:
    return [part for part in path.replace(".", "/").split("/") if part]


def _sequences(
    nodes: Sequence[Data], members: Sequence[tuple[str, list[int]]], calls: Sequence[Data]
) -> list[int]:
    """A hash of the kernels that each group's nodes run, in order: equal for repeated blocks."""
    kernel: Mapping[object, object] = {call["id"]: call["kernel"] for call in calls}
    of_node: dict[str, list[object]] = {}
    for call in calls:
        for id in cast("list[str]", call["nodes"]):
            of_node.setdefault(id, []).append(kernel[call["id"]])
    return [
        hash(tuple((nodes[i]["op"], tuple(of_node.get(str(nodes[i]["id"]), ()))) for i in inside))
        for _, inside in members
    ]
