"""The classes of messages: those of the package onnx, which is imported after them or before."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_SAME = "assert all(getattr(onnx, name) is getattr(messages, name) for name in messages.__all__); "
_CHECKED = "onnx.checker.check_model(onnx.parser.parse_model(text))"
_TEXT = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
_OURS, _THEIRS = "from stepwell.frontend import messages; ", "import onnx, onnx.onnx_ml_pb2, onnx.checker; "


@pytest.mark.parametrize("order", [_OURS + _THEIRS, _THEIRS + _OURS], ids=["ours first", "onnx first"])
def test_they_are_those_of_the_package(order: str) -> None:
    held = "assert onnx.onnx_ml_pb2.ModelProto is messages.ModelProto; "
    program = f"text = {_TEXT!r}; {order}{_SAME}{held}{_CHECKED}"
    subprocess.run([sys.executable, "-c", program], check=True)


_PROGRAM = """
import sys
from stepwell.frontend.messages import ModelProto
late = "google.protobuf.internal.python_message"
print(late in sys.modules)
from google.protobuf import descriptor_pool, json_format, text_format
model = ModelProto(producer_name="us")
print(text_format.MessageToString(model).strip(), json_format.MessageToDict(model))
import google.protobuf.internal.python_message as messages
name = "GeneratedProtocolMessageType"
print(getattr(descriptor_pool.python_message, name) is getattr(messages, name))
print([module for module in sys.modules.values() if type(module).__name__ == "_Late"])
import onnx
print(onnx.ModelProto is ModelProto, ModelProto.FromString(model.SerializeToString()) == model)
"""


@pytest.mark.parametrize("implementation", ["upb", "python"])
def test_protobufs_own_messages_are_imported_when_they_are_used(implementation: str) -> None:
    environment = {**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": implementation}
    command = [sys.executable, "-c", _PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    first, *others = done.stdout.splitlines()
    assert first == str(implementation == "python")
    assert others == ["producer_name: \"us\" {'producerName': 'us'}", "True", "[]", "True True"]
