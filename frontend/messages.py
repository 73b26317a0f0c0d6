"""
The classes of ONNX's messages, without the package around them, whose import takes four times as long.

They are the same classes: protobuf has one for each message of a process, whatever module defines it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import LazyLoader, find_spec, module_from_spec
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


def _import_late(package: str, name: str) -> None:
    """Let a module of a package be executed when something in it is asked for."""
    spec = find_spec(f"{package}.{name}")
    if spec is None or spec.loader is None or spec.name in sys.modules:
        return
    spec.loader = loader = LazyLoader(spec.loader)
    sys.modules[spec.name] = module = module_from_spec(spec)
    loader.exec_module(module)
    setattr(import_module(package), name, module)


def _messages() -> ModuleType:
    """The module of the classes; where it cannot be found alone, from the package."""
    # protobuf's messages in Python (5 ms), which it always imports and seldom uses: it has them in C.
    _import_late("google.protobuf.internal", "python_message")
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
