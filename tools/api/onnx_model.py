"""Programs of any front end as ONNX models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from stepwell.dialects.foreign.model_dialect import model_dialect
from stepwell.dialects.graph_ir.state import NAME, next_name
from stepwell.passes import run_pipeline
from stepwell.runtime.errors import StepwellError
from stepwell.tools.api.levels import level_of
from stepwell.tools.driver.compilation import conversion_of, main_of
from stepwell.tools.driver.program import Program

if TYPE_CHECKING:
    from onnx import ModelProto


def written_model(program: Program, *, operators: bool = False) -> ModelProto:
    """
    A program as an ONNX model; changes the program.

    Args: `operators` writes a model of ONNX by way of level 1 too: operators of opset 21 alone, without
    functions and operators of plugins.
    Raises: StepwellError `unsupported-op`, `unsupported`, `too-large`.
    """
    from stepwell.frontend import export_onnx
    from stepwell.tools.api.element_types import widen_elements

    level, module = level_of(program.module), program.module
    is_foreign = level == "onnx" and model_dialect(module) not in (None, "onnx")
    if level == "onnx" and (operators or is_foreign):
        run_pipeline(module, conversion_of(module), program.ctx)
        level = "graph"
    if level == "graph":
        _rename_next_values(main_of(module))
        run_pipeline(module, "convert-graph-to-onnx", program.ctx)
        widen_elements(module)
    return export_onnx(module, program.ctx)


def _rename_next_values(main: FuncOp) -> None:
    """
    Rename results of states, which have the names of their arguments: ONNX has no states.

    `--state 'k=k_next'` makes a state of both again.
    """
    given = {
        name.data for about in _entries(main.arg_attrs) if isinstance(name := about.get(NAME), StringAttr)
    }
    renamed: list[DictionaryAttr] = []
    for about in _entries(main.res_attrs):
        name = about.get(NAME)
        if isinstance(name, StringAttr) and name.data in given:
            about = {**about, NAME: StringAttr(next_name(name.data))}
        renamed.append(DictionaryAttr(about))
    if renamed:
        main.properties["res_attrs"] = ArrayAttr(renamed)


def _entries(attributes: ArrayAttr[DictionaryAttr] | None) -> list[dict[str, Attribute]]:
    return [] if attributes is None else [dict(each.data) for each in attributes]


def at_opset(model: ModelProto, opset: int) -> ModelProto:
    """
    A model with operators of another opset, by ONNX's own converter.

    Raises: StepwellError `unsupported` with the converter's reason.
    """
    from onnx import version_converter

    try:
        return version_converter.convert_version(model, opset)
    except Exception as error:  # it raises RuntimeError, and errors of its C++ part
        reason = str(error).strip().splitlines()[0]
        message = f"the model cannot be written in opset {opset}: {reason}"
        raise StepwellError("unsupported", None, message, help="leave --opset out for opset 21") from None
