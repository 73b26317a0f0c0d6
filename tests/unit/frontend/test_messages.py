"""The classes of messages: those of the package onnx, which is imported after them or before."""

from __future__ import annotations

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
