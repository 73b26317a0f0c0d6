"""Positions of a model's nodes on the page: all of them, and folded by module path and repeated blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from stepwell.tools.explore.kernel_steps import Data
from stepwell.tools.explore.layers import Edge
from stepwell.tools.explore.layout import layout

NODE_HEIGHT = 34.0
_CHAR, _PADDING, _LEAST, _MOST = 7.0, 22.0, 70.0, 230.0
"""Pixels of a character of the page's font, around a name, and the bounds of a node's width."""
FOLDED_FROM = 1000
"""Nodes from which on the page opens folded."""
_REPEATED = 3
"""Equal blocks in a row from which on they are one item."""
_MOST_PARTS, _LEAST_NODES = 64, 6
"""The largest number of parts of a block that is looked for, and the fewest nodes of all its repetitions."""


class Part(NamedTuple):
    """A node of the model, a group of nodes, or a block that is repeated; `nodes` are indices."""

    name: str
    nodes: list[int]
    inside: list[Part]
    """The parts of a group; none of a node."""
    times: int = 1


def drawing_of(nodes: Sequence[Data], edges: Sequence[Data], calls: Sequence[Data]) -> Data:
    """
    Two drawings: `full` of all nodes, and `folded`, of groups (None where nothing can be folded).

    A folded drawing has `items`, `edges` between them, and where they are; an item that can be opened has a
    drawing of what is inside, and is a group of nodes by the first parts of their module paths, or a block of
    groups or nodes that is repeated: the same ops and kernels in the same order.
    """
    labels = [max((str(node["name"]), str(node["op"])), key=len) for node in nodes]
    index = {node["id"]: i for i, node in enumerate(nodes)}
    pairs = [(index[edge["from"]], index[edge["to"]]) for edge in edges]
    full = _drawn(labels, pairs)
    full["open"] = "folded" if len(nodes) > FOLDED_FROM else "full"
    parts = _repeated(_groups(nodes), _sequences(nodes, calls))
    folded = (
        _opened(parts, pairs, [node["id"] for node in nodes], labels) if len(parts) < len(nodes) else None
    )
    return {"full": full, "folded": folded}


def _drawn(labels: Sequence[str], pairs: Sequence[Edge]) -> Data:
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


def _opened(
    parts: Sequence[Part], pairs: Sequence[Edge], ids: Sequence[object], labels: Sequence[str]
) -> Data:
    """The drawing of parts, with the drawings of what is inside them."""
    owner = {node: i for i, part in enumerate(parts) for node in part.nodes}
    inside: list[list[Edge]] = [[] for _ in parts]
    between: dict[Edge, None] = {}
    for a, b in pairs:
        if owner[a] == owner[b]:
            inside[owner[a]].append((a, b))
        else:
            between[owner[a], owner[b]] = None
    items: list[Data] = []
    for part, inner in zip(parts, inside, strict=True):
        item: Data = {"name": part.name, "nodes": [ids[i] for i in part.nodes]}
        items.append(
            item | ({"times": part.times} | _opened(part.inside, inner, ids, labels) if part.inside else {})
        )
    texts = [f"+ {part.name} × {part.times}" if part.inside else labels[part.nodes[0]] for part in parts]
    return _drawn(texts, list(between)) | {"edges": list(between), "items": items}


def _groups(nodes: Sequence[Data]) -> list[Part]:
    """Nodes in at most a few hundred groups, by a beginning of the module path; others stay alone."""
    paths = [_parts(str(node["module"])) for node in nodes]
    alone = [Part(str(node["name"]), [i], []) for i, node in enumerate(nodes)]
    for depth in range(max(map(len, paths), default=0), 0, -1):
        found: dict[str, list[int]] = {}
        for i, path in enumerate(paths):
            found.setdefault("/".join(path[:depth]) or str(nodes[i]["name"]), []).append(i)
        if len(found) <= FOLDED_FROM / 4 or depth == 1:
            groups = found.items()
            return [Part(n, own, [alone[i] for i in own]) if own[1:] else alone[own[0]] for n, own in groups]
    return alone


def _parts(path: str) -> list[str]:
    return [part for part in path.replace(".", "/").split("/") if part]


def _sequences(nodes: Sequence[Data], calls: Sequence[Data]) -> list[object]:
    """For each node its op and the kernels that it is in: equal for the nodes of repeated blocks."""
    kernel: Mapping[object, object] = {call["id"]: call["kernel"] for call in calls}
    of_node: dict[str, tuple[object, ...]] = {}
    for call in calls:
        for id in cast("list[str]", call["nodes"]):
            of_node[id] = (*of_node.get(id, ()), kernel[call["id"]])
    return [(node["op"], of_node.get(str(node["id"]), ())) for node in nodes]


def _repeated(parts: Sequence[Part], sequences: Sequence[object]) -> list[Part]:
    """The parts, with each run of equal blocks as one part."""
    hashes = [hash(tuple(sequences[i] for i in part.nodes)) for part in parts]
    count, found, at = len(parts), list[Part](), 0
    equal = {size: _equal_after(hashes, size) for size in range(1, min(_MOST_PARTS, count // _REPEATED) + 1)}
    while at < count:
        # The most parts in one item; of these the smallest block.
        runs = ((after[at] // size + 1, size) for size, after in equal.items() if after[at] > size)
        times, size = max(runs, key=lambda run: (run[0] * run[1], run[0]), default=(1, 1))
        own = parts[at : at + times * size]
        nodes = [i for part in own for i in part.nodes]
        if times >= _REPEATED and len(nodes) >= _LEAST_NODES:
            own = [Part(own[0].name, nodes, list(own), times)]
        found += own[:1]
        at += times * size if own[0].times > 1 else 1
    return found


def _equal_after(hashes: Sequence[int], size: int) -> list[int]:
    """For each position how many hashes from it on are those `size` positions later."""
    equal = [0] * (len(hashes) + 1)
    for at in range(len(hashes) - size - 1, -1, -1):
        equal[at] = equal[at + 1] + 1 if hashes[at] == hashes[at + size] else 0
    return equal
