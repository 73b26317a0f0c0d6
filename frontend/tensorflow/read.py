"""
Models of TensorFlow as modules of level 0: its own converter makes a TFLite file, which our reader reads.

The converter runs in a process of its own: loading a SavedModel can run code, and a bad one can end the
process. A model is to be trusted as a program is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.reader_process import ending, reported_error, run_reader
from stepwell.frontend.tflite.read import module_of_bytes
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import expect_exists

CONTENT = "saved_model.pb"
"""The file in the folder of a SavedModel."""
_SECONDS = 1200
_HELP = "example_inputs=(x,), with an array, or a tf.TensorSpec for open sizes, for each argument"


def read_saved_model(path: Path, ctx: StepwellContext) -> ModuleOp:
    """
    The folder of a SavedModel, or the file of a frozen graph, as a module of level 0.

    Raises: StepwellError `no-file`, `missing-package`; `export-failed` for a model that TensorFlow cannot
    load or convert; those of the reader of TFLite files.
    """
    path = path.parent if path.name == CONTENT else path
    expect_exists(path, "model")
    if find_spec("tensorflow") is None:
        message = f"reading {path.name} needs tensorflow, which is not installed"
        raise StepwellError("missing-package", str(path), message, help="pip install 'stepwell[tensorflow]'")
    return _converted(path, ctx, path.name, ())


def read_function(function: Any, ctx: StepwellContext, example_inputs: object = None) -> ModuleOp:
    """
    A function of TensorFlow, with its variables as constants, as a module of level 0.

    Args: `example_inputs` are arrays or `tf.TensorSpec`s, one an argument; a function with an
    `input_signature`, and one for known arguments, needs none.
    Raises: StepwellError `bad-model`, and as `read_saved_model`.
    """
    if example_inputs is not None and not isinstance(example_inputs, Sequence):
        raise StepwellError("bad-model", None, "example_inputs must be a tuple of arrays", help=_HELP)
    concrete = function
    if hasattr(function, "get_concrete_function"):
        given = cast("Sequence[Any]", example_inputs or ())
        try:
            concrete = function.get_concrete_function(*given)
        except Exception as error:  # TensorFlow raises what the function's own code raises, too
            text = " ".join(str(error).split())[:300] or type(error).__name__
            message = f"TensorFlow cannot trace the function: {text}"
            raise StepwellError("export-failed", None, message, help=_HELP) from None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "function.pb"
        return _converted(path, ctx, "<function>", _frozen(concrete, path))


def read_keras_model(model: Any, ctx: StepwellContext, example_inputs: object = None) -> ModuleOp:
    """A model of Keras 2, or of Keras 3 on TensorFlow, as a module of level 0; as `read_function`."""
    tf: Any = import_module("tensorflow")
    inputs = cast("Sequence[Any]", getattr(model, "inputs", None) or ())
    if example_inputs is None and not inputs:
        message = "the model does not describe its inputs: it is a subclass, or was never called"
        raise StepwellError("bad-model", None, message, help=_HELP)
    given = [tf.TensorSpec(each.shape, each.dtype, name=_name(each.name)) for each in inputs]

    def call(*arguments: Any) -> Any:
        return model(arguments[0] if len(arguments) == 1 else list(arguments), training=False)

    return read_function(tf.function(call), ctx, given if example_inputs is None else example_inputs)


def _name(text: str) -> str:
    return text.partition(":")[0]


def _frozen(concrete: Any, path: Path) -> Sequence[str]:
    """Write the graph of a function; returns the names of its inputs and outputs, as options."""
    tools: Any = import_module("tensorflow.python.framework.convert_to_constants")
    try:
        frozen = tools.convert_variables_to_constants_v2(concrete, lower_control_flow=False)
        path.write_bytes(frozen.graph.as_graph_def().SerializeToString())
    except Exception as error:  # of many classes
        text = " ".join(str(error).split())[:300] or type(error).__name__
        raise StepwellError("export-failed", None, f"TensorFlow cannot freeze the function: {text}") from None
    inputs, outputs = ([str(each.name) for each in tensors] for tensors in (frozen.inputs, frozen.outputs))
    return ["--inputs", json.dumps(inputs), "--outputs", json.dumps(outputs)]


def _converted(path: Path, ctx: StepwellContext, name: str, options: Sequence[str]) -> ModuleOp:
    """The module of the TFLite file that the process makes of a model. Args: `name` is for diagnostics."""
    with TemporaryDirectory() as folder:
        written = Path(folder) / "m.tflite"
        command = ["-m", "stepwell.frontend.tensorflow.convert", str(path), str(written), *options]
        failure = StepwellError("export-failed", name, "TensorFlow did not convert the model")
        done = run_reader(command, failure, _SECONDS)
        if done.returncode != 0 or not written.exists():
            message = f"TensorFlow ended with {ending(done.returncode)} while it converted the model"
            raise reported_error(done, name, StepwellError("export-failed", name, message))
        return module_of_bytes(memoryview(written.read_bytes()), name, ctx)
