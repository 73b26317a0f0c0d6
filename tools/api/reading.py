"""`stepwell.read`, `parse` and `import_onnx`: files and text as modules."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.frontend.formats import with_keywords
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.api.compile import is_ir_in_memory
from stepwell.tools.api.module import Module
from stepwell.tools.driver.options import check_suffix, source_suffixes
from stepwell.tools.driver.reading import read_module
from stepwell.tools.driver.written_program import verify_written

if TYPE_CHECKING:
    from onnx import ModelProto

    from stepwell.tools.driver.options import ModelFile

    Target = str | TargetDescription | None


def read(
    source: str | os.PathLike[str] | object,
    *,
    example_inputs: object = None,
    dynamic_shapes: object = None,
    check_guards: bool = True,
    weights_from: str | os.PathLike[str] | None = None,
    target: Target = None,
    context: StepwellContext | None = None,
) -> Module:
    """
    A model of any kind as a module of level 0; or IR as text (.mlir), with the weight file beside it.

    Args: `source` is a path, a model in memory, or a `ModuleOp` of xDSL's; `example_inputs`,
    `dynamic_shapes`, `check_guards` and `weights_from` are as for `stepwell.compile`.
    Raises: StepwellError `unknown-file-type`, `bad-model`, `no-file`, `invalid-model`, `syntax`,
    `invalid-ir`.
    """
    if is_ir_in_memory(source):
        return Module(source, target=target, context=context).verify()
    context = StepwellContext() if context is None else context
    keywords: dict[str, object] = {"example_inputs": example_inputs, "dynamic_shapes": dynamic_shapes}
    keywords["check_guards"] = None if check_guards else False
    keywords["weights_from"] = None if weights_from is None else Path(weights_from)
    if isinstance(source, str | os.PathLike):
        file = _checked_path(Path(cast("str | os.PathLike[str]", source)))
        model: object = with_keywords(file, keywords)
    else:
        model = with_keywords(source, keywords)
    with collector_paused():
        return Module(read_module(cast("ModelFile", model), context), target=target, context=context)


def _checked_path(file: Path) -> Path:
    """The path of a file that is a model or IR. Raises: StepwellError `unknown-file-type`."""
    if file.suffix == ".stepwell":
        help = "load it with stepwell.load, or read the model's own file"
        raise StepwellError("unknown-file-type", str(file), "an artifact is compiled already", help=help)
    check_suffix(file, source_suffixes())
    return file


def parse(
    text: str,
    *,
    name: str = "<text>",
    weights: WeightStore | str | os.PathLike[str] | None = None,
    target: Target = None,
    context: StepwellContext | None = None,
) -> Module:
    """
    Text of any level as a verified module.

    Args: `name` is the text's name in locations and diagnostics; others are as for `stepwell.Module`.
    Raises: StepwellError `syntax`, `invalid-ir`.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"text must be text, found {type(text).__name__}"
        raise StepwellError("type-mismatch", None, message, help="stepwell.read takes the path of a file")
    context = StepwellContext() if context is None else context
    with collector_paused():
        module = parse_module(context, text, name)
        verify_written(module)
    return Module(module, weights=weights, target=target, context=context)


def import_onnx(
    model: str | os.PathLike[str] | bytes | ModelProto,
    *,
    keep_overridable: bool = False,
    base_dir: str | Path | None = None,
    target: Target = None,
    context: StepwellContext | None = None,
) -> Module:
    """
    An ONNX model as a module of level 0: from a path, bytes or a message.

    Args: `keep_overridable` imports initializers that are inputs too as inputs with a default; `base_dir` is
    the folder of external data (default: that of the file).
    Raises: StepwellError `no-file`, `invalid-model`, `bad-model`, `unknown-opset`, `external-data`, ….
    """
    from stepwell.frontend import import_onnx as import_into

    context = StepwellContext() if context is None else context
    source = Path(model) if isinstance(model, os.PathLike) else model
    with collector_paused():
        op = import_into(source, context, keep_overridable=keep_overridable, base_dir=base_dir)
    return Module(op, target=target, context=context)
