"""The order of a graph's nodes: definitions before uses; cycles and names without definition are errors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from stepwell.frontend.messages import AttributeProto, GraphProto, NodeProto
from stepwell.frontend.source import Source
from stepwell.runtime.errors import StepwellError


def node_name(node: NodeProto, index: int) -> str:
    """The name of a node in its location: its own, or operator and number."""
    return node.name or f"{node.op_type}#{index}"


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs among a node's attributes."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def used_names(node: NodeProto) -> list[str]:
    """The names from its graph that a node uses: inputs, and values captured by subgraphs."""
    names = [name for name in node.input if name]
    for graph in subgraphs(node):
        names += _captured(graph)
    return names


def _captured(graph: GraphProto) -> list[str]:
    """The names that a graph uses and does not define."""
    inside = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    inside |= {tensor.values.name for tensor in graph.sparse_initializer}
    inside.update(name for node in graph.node for name in node.output)
    used = [name for node in graph.node for name in used_names(node)]
    used += [value.name for value in graph.output]
    return [name for name in used if name not in inside]


def sorted_nodes(
    nodes: Sequence[NodeProto], is_defined: Callable[[str], bool], source: Source
) -> list[tuple[int, NodeProto]]:
    """
    The nodes with their index in topological order; warns when that is not the order of the file.

    Args: `is_defined` is true for names from outside: inputs, initializers, values of outer graphs.
    Raises: StepwellError `undefined-value` or `cycle`.
    """
    uses = [used_names(node) for node in nodes]
    seen: set[str] = set()
    for node, names in zip(nodes, uses, strict=True):
        if not all(name in seen or is_defined(name) for name in names):
            break
        seen.update(node.output)
    else:
        return list(enumerate(nodes))
    order = _topological(nodes, uses, is_defined, source)
    source.warn("the nodes are not in the order of their use: sorted")
    return [(index, nodes[index]) for index in order]


def _topological(
    nodes: Sequence[NodeProto],
    uses: Sequence[Sequence[str]],
    is_defined: Callable[[str], bool],
    source: Source,
) -> list[int]:
    """The indices of the nodes in topological order (Kahn's algorithm). Raises as `sorted_nodes`."""
    makers = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    needs: list[set[int]] = []
    for index, names in enumerate(uses):
        for name in names:
            if name not in makers and not is_defined(name):
                raise undefined(source, node_name(nodes[index], index), name)
        needs.append({makers[name] for name in names if name in makers})
    users: list[list[int]] = [[] for _ in nodes]
    for index, makers_of_it in enumerate(needs):
        for maker in makers_of_it:
            users[maker].append(index)
    missing = [len(makers_of_it) for makers_of_it in needs]
    ready = deque(index for index, count in enumerate(missing) if count == 0)
    order: list[int] = []
    while ready:
        order.append(index := ready.popleft())
        for user in users[index]:
            missing[user] -= 1
            if missing[user] == 0:
                ready.append(user)
    if len(order) < len(nodes):
        raise _cycle(nodes, needs, set(range(len(nodes))) - set(order), source)
    return order


def undefined(source: Source, node: str, name: str) -> StepwellError:
    """The error for a used name without definition."""
    return StepwellError(
        "undefined-value",
        source.node(node),
        f"{name!r} is used, but no input, initializer or node defines it",
    )


def _cycle(
    nodes: Sequence[NodeProto], needs: Sequence[set[int]], left: set[int], source: Source
) -> StepwellError:
    """The error for a cycle among the nodes that are left."""
    path = [min(left)]
    while (maker := min(needs[path[-1]] & left)) not in path:
        path.append(maker)
    names = [node_name(nodes[index], index) for index in [*path[path.index(maker) :], maker]]
    shown = " <- ".join(names if len(names) <= 8 else [*names[:7], f"… ({len(names) - 8} more)", names[-1]])
    return StepwellError("cycle", source.node(names[0]), f"nodes depend on each other: {shown}")
