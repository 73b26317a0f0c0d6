"""
The program that converts a model of TensorFlow to a TFLite file, run in a process of its own.

`python -m stepwell.frontend.tensorflow.convert MODEL OUT [--inputs '["x:0"]' --outputs '["y:0"]']`: a failure
is a line of JSON with the code, message and help of an error.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from stepwell.runtime.errors import StepwellError

_LARGE_BYTES = 1 << 30
"""Models from this size on get buffers beside the flatbuffer, which has at most 2 GiB."""
_NO_OPERATOR = re.compile(r"'(tf\.\w+)' op is neither a custom op nor a flex op")
_NOT_OUTPUTS = frozenset(("Assert", "Const", "NoOp", "Placeholder"))


def _main(arguments: Sequence[str]) -> None:
    """Convert a model. Raises: StepwellError."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--inputs", type=json.loads)
    parser.add_argument("--outputs", type=json.loads)
    given = parser.parse_args(arguments)
    try:
        tf: Any = import_module("tensorflow")
    except ImportError as error:
        message = f"tensorflow cannot be imported: {error}"
        help = "pip install 'stepwell[tensorflow]'"
        raise StepwellError("missing-package", None, message, help=help) from None
    load = _saved if given.model.is_dir() else _graph
    try:
        converter = load(tf, given)
    except Exception as error:  # TensorFlow raises exceptions of many classes
        raise _failed("TensorFlow cannot load the model", error) from None
    if _size(given.model) > _LARGE_BYTES:
        converter._experimental_use_buffer_offset = True
    data = _data(converter, tf.lite.OpsSet)
    given.out.write_bytes(data)


def _data(converter: Any, sets: Any) -> bytes:
    """
    The file of a model with TFLite's operators; where these do not suffice, with Flex operators.

    The conversion to `graph` then lists all Flex operators at once. Raises: StepwellError `export-failed`.
    """
    converter.target_spec.supported_ops = [sets.TFLITE_BUILTINS]
    try:
        return converter.convert()
    except Exception as error:
        failed = _failed("TensorFlow cannot convert the model", error)
    if failed.code == "export-failed" and failed.help is not None:
        raise failed
    converter.target_spec.supported_ops = [sets.TFLITE_BUILTINS, sets.SELECT_TF_OPS]
    try:
        return converter.convert()
    except Exception:
        raise failed from None


def _saved(tf: Any, given: argparse.Namespace) -> Any:
    """The converter of a SavedModel: of the signature `serving_default`, or of the only one."""
    loaded = tf.saved_model.load(str(given.model))
    names = sorted(loaded.signatures)
    if not names:
        raise ValueError("the SavedModel has no signature: save it with signatures=function")
    if "serving_default" not in names and len(names) > 1:
        raise ValueError(f"the SavedModel has the signatures {', '.join(names)}, and no serving_default")
    key = "serving_default" if "serving_default" in names else names[0]
    return tf.lite.TFLiteConverter.from_saved_model(str(given.model), signature_keys=[key])


def _graph(tf: Any, given: argparse.Namespace) -> Any:
    """The converter of a frozen graph, by default from all placeholders to the nodes without users."""
    graph = tf.compat.v1.GraphDef()
    graph.ParseFromString(given.model.read_bytes())
    inputs = given.inputs if given.inputs is not None else _placeholders(graph)
    outputs = given.outputs if given.outputs is not None else _ends(graph)
    if not outputs:
        raise ValueError("the graph has no nodes")

    def whole() -> None:
        tf.graph_util.import_graph_def(graph, name="")

    wrapped = tf.compat.v1.wrap_function(whole, [])
    function = wrapped.prune(*(_tensors(wrapped.graph, names) for names in (inputs, outputs)))
    return tf.lite.TFLiteConverter.from_concrete_functions([function])


def _tensors(graph: Any, names: Sequence[str]) -> list[Any]:
    return [graph.as_graph_element(name, allow_operation=False) for name in names]


def _placeholders(graph: Any) -> list[str]:
    return [f"{node.name}:0" for node in graph.node if node.op == "Placeholder"]


def _ends(graph: Any) -> list[str]:
    """The first results of the nodes without users."""
    taken = {name.lstrip("^").partition(":")[0] for node in graph.node for name in node.input}
    ends = (node for node in graph.node if node.name not in taken and node.op not in _NOT_OUTPUTS)
    return [f"{node.name}:0" for node in ends]


def _size(path: Path) -> int:
    """The bytes of a file, or of the files of a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _failed(what: str, error: Exception) -> StepwellError:
    """The error for an exception of TensorFlow, with the beginning of its text."""
    if unknown := sorted(set(_NO_OPERATOR.findall(str(error)))):
        message = f"TFLite has no operator for {', '.join(unknown)}"
        return StepwellError("unsupported-op", None, message, help="export the program to ONNX")
    text = " ".join(str(error).split())[:400] or type(error).__name__
    is_list = "element_shape" in str(error)
    help = "fix the batch: its size decides the shapes of a loop (Keras: Input(..., batch_size=1))"
    return StepwellError("export-failed", None, f"{what}: {text}", help=help if is_list else None)


if __name__ == "__main__":
    try:
        _main(sys.argv[1:])
    except StepwellError as error:
        print(json.dumps({"code": error.code, "message": error.message, "help": error.help}))
        sys.exit(1)
