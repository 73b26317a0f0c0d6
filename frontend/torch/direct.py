"""The choice between reading an exported program as it is and decomposing it first, which takes seconds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stepwell.frontend.torch.fx_nodes import target_name
from stepwell.frontend.torch.targets import is_check, is_size, kept

_NEW_MEMORY = re.compile(
    r"aten\.(conv\dd|convolution|linear|matmul|addmm|bmm|mm|batch_norm|group_norm|layer_norm|instance_norm|"
    r"add|sub|mul|div|relu|gelu|silu|elu|leaky_relu|hardtanh|relu6|hardswish|hardsigmoid|sigmoid|tanh|mish|"
    r"softmax|mean|cat|max_pool2d|avg_pool2d|adaptive_avg_pool2d)\.\w+"
)
"""Operators whose result never shares the memory of an operand."""


_OPERANDS = frozenset(f"aten.{name}dropout.default" for name in ("", "feature_", "alpha_"))
"""The identity in inference; `run_decompositions` makes a copy instead, unlike eager mode."""


def is_direct(program: Any) -> bool:
    """
    Whether an exported program can be read without `run_decompositions`: each operator has a conversion.

    Operators in place are those of `functionalize-torch`, as long as no other operator could have a result in
    the memory that they write: `contiguous` of a value may be the value or a copy.
    """
    nodes = list(program.graph.nodes)
    if any(node.op not in ("placeholder", "call_function", "output") for node in nodes):
        return False
    names = {node: target_name(node.target) for node in nodes if node.op == "call_function"}
    if not all(_is_read(name) or _is_write(name) for name in names.values()):
        return False
    return _are_seen(names, {node: number for number, node in enumerate(nodes)})


def _is_read(name: str) -> bool:
    return name in kept() or name == "_operator.getitem" or is_size(name) or is_check(name)


def _is_write(name: str) -> bool:
    """Whether an operator writes into its first operand, and has a counterpart with a conversion."""
    library, packet, overload = (*name.split("."), "")[:3]
    return packet.endswith("_") and f"{library}.{packet.removesuffix('_')}.{overload}" in kept()


def _are_seen(names: Mapping[Any, str], order: Mapping[Any, int]) -> bool:
    """Whether all values in memory that is written are known to be: new values, and results of the writes."""
    roots: dict[Any, Any] = {}
    written: dict[Any, int] = {}
    for node, name in names.items():
        if _is_write(name) or name in _OPERANDS:
            roots[node] = root = roots.get(node.args[0], node.args[0])
            if _is_write(name):
                written[root] = order[node]
    if not all(_NEW_MEMORY.fullmatch(names.get(root, "")) for root in written):
        return False
    aliases = [*roots.items(), *((root, root) for root in written)]
    return all(
        user in roots or order[user] > written.get(root, -1) or _NEW_MEMORY.fullmatch(names.get(user, ""))
        for alias, root in aliases
        for user in alias.users
    )
