"""Facts about a program of any level: the level, functions, inputs and outputs."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from stepwell.dialects.foreign.model_dialect import MODEL_DIALECTS
from stepwell.dialects.graph.expression import outside_formulas
from stepwell.dialects.graph_ir.annotations import BOUND_KERNEL
from stepwell.dialects.sched import UNROLLED
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model_info import TensorInfo
from stepwell.tools.driver.compilation import is_on_loops, kernels_of, main_of
from stepwell.tools.driver.model_attribute import interface_of, is_on_machine
from stepwell.tools.driver.model_interface import named_types, tensor_spec


def level_of(module: ModuleOp) -> str:
    """The level of a module by its ops: `onnx` (0), `graph`, `linalg`, `vector`, `loops` or `llvm`."""
    if is_on_loops(module):
        return "llvm" if is_on_machine(module) else "loops"
    if any(BOUND_KERNEL in op.attributes for op in module.walk()):
        return "graph"  # with functions on tensors for some of its kernels
    functions = functions_in(module).values()
    if any(isinstance(function, llvm.FuncOp) for function in functions):
        return "llvm"
    dialects = {op.name.partition(".")[0] for op in outside_formulas(module)}
    if "memref" in dialects or any(_is_on_buffers(function) for function in functions):
        return "loops"
    if any(UNROLLED in function.attributes for function in functions):
        return "vector"
    if kernels_of(module) or dialects & {"linalg", "tensor", "vector"}:
        return "linalg"
    return "onnx" if dialects.intersection(MODEL_DIALECTS) else "graph"


def _is_on_buffers(function: FuncOp | llvm.FuncOp) -> bool:
    return isinstance(function, FuncOp) and any(
        isinstance(type, MemRefType) for type in function.function_type.inputs
    )


def functions_in(module: ModuleOp) -> dict[str, FuncOp | llvm.FuncOp]:
    """The functions of a module by name, in order."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp | llvm.FuncOp)}


def values_of(module: ModuleOp, kind: str) -> list[TensorInfo]:
    """
    The inputs or outputs of a program, by `kind`.

    Raises: StepwellError `no-main`; `invalid-ir` when `sched.model` was changed by hand and cannot be read.
    """
    if is_on_loops(module):
        interface = interface_of(module)
        specs = interface.inputs if kind == "input" else interface.outputs
        return [TensorInfo.of(spec) for spec in specs]
    return [_info(name, type, kind) for name, type in named_types(main_of(module), kind)]


def _info(name: str, type: Attribute, kind: str) -> TensorInfo:
    try:
        return TensorInfo.of(tensor_spec(name, type, kind))
    except StepwellError:  # a value of level 0 whose type no step has inferred yet
        return TensorInfo(name, None, None, str(type))
