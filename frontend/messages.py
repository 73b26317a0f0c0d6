"""
The classes of ONNX's messages, without the package around them, whose import takes four times as long.

They are the same classes: protobuf has one for each message of a process, whatever module defines it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING

from google.protobuf.message import Message

_NAME = "onnx.onnx_ml_pb2"

if TYPE_CHECKING:
    from onnx import (
        AttributeProto,
        FunctionProto,
        GraphProto,
        ModelProto,
        NodeProto,
        OperatorSetIdProto,
        SparseTensorProto,
        StringStringEntryProto,
        TensorAnnotation,
        TensorProto,
        TensorShapeProto,
        TypeProto,
        ValueInfoProto,
    )

__all__ = [
    "AttributeProto",
    "FunctionProto",
    "GraphProto",
    "ModelProto",
    "NodeProto",
    "OperatorSetIdProto",
    "SparseTensorProto",
    "StringStringEntryProto",
    "TensorAnnotation",
    "TensorProto",
    "TensorShapeProto",
    "TypeProto",
    "ValueInfoProto",
]


class _Late(ModuleType):
    """A module that is imported when something in it is used."""

    def __getattr__(self, name: str) -> object:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def _late(name: str) -> Generator[None]:
    """A context manager in which importers of a module get it late; afterwards they get the module itself."""
    late = sys.modules.setdefault(name, _Late(name))
    yield
    if isinstance(late, _Late) and sys.modules.get(name) is late:
        del sys.modules[name]


# protobuf imports its messages in Python (5 ms) in any case, and has others in C.
@_late("google.protobuf.internal.python_message")
def _messages() -> ModuleType:
    """The module of the classes; where it cannot be found alone, from the package."""
    package = find_spec("onnx")
    spec = None if package is None else PathFinder.find_spec(_NAME, package.submodule_search_locations)
    if _NAME in sys.modules or spec is None or spec.loader is None:
        return import_module(_NAME)
    module = module_from_spec(spec)  # not into `sys.modules`, where the package would not find its attribute
    spec.loader.exec_module(module)
    return module


_MESSAGES = _messages()
globals().update((name, getattr(_MESSAGES, name)) for name in __all__)


def message_class(name: str) -> type[Message]:
    """The class of a message by its name, such as `ModelProto`."""
    return getattr(_MESSAGES, name)
