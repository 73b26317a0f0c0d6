"""The trie of exported symbols, by which macOS's loader finds them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class _Node:
    """A prefix of names, and what follows it."""

    address: int | None = None
    edges: dict[str, _Node] = field(default_factory=dict[str, "_Node"])
    offset: int = 0

    def bytes(self) -> bytes:
        """The node with the offsets that the nodes after it have."""
        own = b"" if self.address is None else _number(0) + _number(self.address)
        found = _number(len(own)) + own + bytes([len(self.edges)])
        for text, node in self.edges.items():
            found += text.encode() + b"\0" + _number(node.offset)
        return found

    def all(self) -> list[_Node]:
        """The node and those after it."""
        return [self, *(each for node in self.edges.values() for each in node.all())]


def exports_trie(addresses: Mapping[str, int]) -> bytes:
    """The trie of names with their addresses, padded to 8 bytes."""
    root = _Node()
    for name, address in sorted(addresses.items()):
        _add(root, name, address)
    nodes, before = root.all(), -1
    end = 0
    while end != before:  # a larger offset has more bytes
        before, end = end, 0
        for node in nodes:
            node.offset = end
            end += len(node.bytes())
    data = b"".join(node.bytes() for node in nodes)
    return data + bytes(-len(data) % 8)


def _add(node: _Node, name: str, address: int) -> None:
    """Add a name below a node; an edge that shares a beginning with it is split."""
    if not name:
        node.address = address
        return
    for text, child in node.edges.items():
        common = _common(text, name)
        if not common:
            continue
        if common < len(text):
            between = _Node(edges={text[common:]: child})
            del node.edges[text]
            node.edges[text[:common]] = child = between
        _add(child, name[common:], address)
        return
    node.edges[name] = _Node(address)


def _common(a: str, b: str) -> int:
    """The number of characters that two names begin with."""
    return len(os.path.commonprefix([a, b]))


def _number(value: int) -> bytes:
    """An unsigned number as groups of 7 bits, the lowest first."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
