"""The import tree of an artifact: functions, code by target, callees outside of compiled code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stepwell.runtime.fallback import parts_of_fallback
from stepwell.runtime.files.artifact import image_of_bytes
from stepwell.runtime.host import FALLBACK, Callee
from stepwell.runtime.image import NATIVE, Entry, ModelImage, Variant
from stepwell.runtime.interface import TensorSpec
from stepwell.runtime.link.code import Code, LinkedCode
from stepwell.tools.report import readable_bytes


class Node(NamedTuple):
    """A thing that a file contains or calls, with the things in it."""

    kind: str
    """`library`, `model`, `program`, `function`, `code`, `bytecode`, or the kind of a callee."""
    name: str
    about: str = ""
    bytes: int = 0
    where: str = ""
    """The node of the model that calls it."""
    children: tuple[Node, ...] = ()

    @property
    def text(self) -> str:
        """A line without its children."""
        size = readable_bytes(self.bytes) if self.bytes else ""
        details = ", ".join(text for text in (self.about, size, self.where and f"at {self.where}") if text)
        return f"{self.kind} {self.name}" + (f": {details}" if details else "")

    def facts(self) -> dict[str, object]:
        """The tree as JSON values."""
        own = {"kind": self.kind, "name": self.name, "about": self.about, "bytes": self.bytes}
        return {**own, "where": self.where, "children": [child.facts() for child in self.children]}


def import_tree(image: ModelImage, name: str) -> Node:
    """The tree of an image; partitions with kernels of ours as a fallback contain an image of their own."""
    functions = [_function(own, entry) for own, entry in image.functions.items()]
    if image.program:
        functions.insert(0, Node("bytecode", "vm", "", len(image.program)))
    kind = "program" if image.program else "library" if image.is_library else "model"
    size = sum(array.nbytes for array in image.weights)
    count = len(image.weights)
    about = f"{count} tensor{'s' * (count > 1)} of weights" if count else "no weights"
    return Node(kind, name, about, size, "", tuple(functions))


def tree_text(root: Node) -> str:
    """The lines of a tree."""
    return "\n".join([root.text, *_lines(root.children, "")])


def _lines(nodes: Sequence[Node], before: str) -> Iterator[str]:
    for number, node in enumerate(nodes):
        is_last = number == len(nodes) - 1
        yield f"{before}{'└── ' if is_last else '├── '}{node.text}"
        yield from _lines(node.children, before + ("    " if is_last else "│   "))


def _function(name: str, entry: Entry) -> Node:
    """A function with its code for each target, and its callees."""
    children = [_code(variant) for variant in entry.variants]
    children += [_callee(callee) for callee in entry.callees]
    if name == NATIVE:
        return Node("function", name, children=tuple(children))
    public = entry.interface.public
    about = f"({_types(public.inputs)}) -> ({_types(public.outputs)})"
    return Node("function", name, about, children=tuple(children))


def _types(specs: Sequence[TensorSpec]) -> str:
    return ", ".join(f"{spec.name}: {spec}" for spec in specs)


def _code(variant: Variant) -> Node:
    fixed = [f"{name}={size}" for name, size in variant.sizes.items()]
    outside = variant.code.outside if isinstance(variant.code, LinkedCode) else ()
    calls = [f"calls {', '.join(outside)}"] if outside else []
    return Node("code", variant.triple, ", ".join(fixed + calls), _bytes(variant.code))


def _bytes(code: Code) -> int:
    return len(code.contents) if isinstance(code, LinkedCode) else sum(map(len, code.objects))


def _callee(callee: Callee) -> Node:
    """A function outside of compiled code; with a fallback it is a backend's code, and a model."""
    size = len(callee.code)
    if callee.kind != FALLBACK:
        return Node(callee.kind, callee.name, "", size, callee.where)
    about, code, image = parts_of_fallback(bytes(callee.code))
    backend = Node(about.backend, about.name, "code of the backend", len(code))
    own = import_tree(image_of_bytes(image, about.name), about.name)
    return Node("partition", callee.name, "", size, callee.where, (backend, own))
