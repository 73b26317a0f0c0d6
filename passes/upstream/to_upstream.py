"""`to-upstream`: a program of levels 2 to 4 in ops and attributes that MLIR itself knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i1, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.tensor_ir.upstream_marks import INFO, MODULE_INFO
from stepwell.passes.upstream.arithmetic import expand_arithmetic
from stepwell.passes.upstream.buffer_ops import rewrite_buffer_ops
from stepwell.passes.upstream.main_ops import MainOps
from stepwell.runtime.errors import StepwellError

OWN_DIALECTS = frozenset({"graph", "linalg_ext", "onnx", "sched"})
"""The dialects whose attributes MLIR refuses, because it does not know them."""

_NOT_VOLATILE: Mapping[str, Attribute] = {"isVolatile": IntegerAttr(0, i1)}
_REQUIRED: Mapping[str, Mapping[str, Attribute]] = {
    "llvm.intr.memcpy": _NOT_VOLATILE,
    "llvm.intr.memset": _NOT_VOLATILE,
    "llvm.intr.prefetch": {"cache": IntegerAttr(1, i32)},  # of data, not of instructions
}
"""Properties that MLIR wants and our ops do not have."""


@dataclass(frozen=True)
class ToUpstreamPass(ModulePass):
    """
    Replace the ops of `@main` that are ours by ops of `arith`, `tensor`, `cf` and `func`, and drop our
    attributes.

    ```mlir
    func.func private @k0(tensor<2x4xf32>) -> tensor<2x4xf32>
    %v = graph.reshape %x shape <[2, 4]> : tensor<8xf32> -> tensor<2x4xf32>
    %y = func.call @k0(%v) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    // ->
    func.func private @k0(tensor<2x4xf32>) -> tensor<2x4xf32>
    %s = arith.constant dense<[2, 4]> : tensor<2xindex>
    %v = tensor.reshape %x(%s) : (tensor<8xf32>, tensor<2xindex>) -> tensor<2x4xf32>
    %y = func.call @k0(%v) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
    The bytes of weights are resources, which `stepwell.mlir.to_upstream` writes after the module. Checks of
    indices are dropped. With `keep-info` dropped attributes stay as text in one that MLIR lets pass.
    """

    name = "to-upstream"

    keep_info: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite `@main`, then clean every op. Raises: StepwellError `unsupported-op`."""
        for function in list(op.ops):
            if isinstance(function, FuncOp) and function.body.blocks:
                MainOps(op, function, weights_of(ctx)).rewrite()
        rewrite_buffer_ops(op)
        expand_arithmetic(op)
        _expect_ours_gone(op)
        about_module = _clean(op)
        for inner in op.walk():
            if (dropped := _clean(inner)) and self.keep_info:
                inner.attributes[INFO] = _text(dropped)
        if about_module and self.keep_info and (first := op.body.block.first_op) is not None:
            first.attributes[MODULE_INFO] = _text(about_module)  # a module takes names with a dialect only


def _expect_ours_gone(module: ModuleOp) -> None:
    """Require ops of upstream dialects. Raises: StepwellError `unsupported-op` that names all others."""
    left = [op for op in module.walk() if op.name.partition(".")[0] in OWN_DIALECTS]
    if left:
        names = ", ".join(sorted({op.name for op in left}))
        message = f"no counterpart in upstream MLIR for {names}"
        raise StepwellError("unsupported-op", left[0], message)


def _clean(op: Operation) -> Mapping[str, Attribute]:
    """
    Drop our attributes from an op, its arguments and results; add attributes that MLIR requires and xDSL
    omits.

    Returns: the dropped attributes; of arguments and results all attributes, where one of them is ours.
    """
    dropped = {name: op.attributes.pop(name) for name in list(op.attributes) if _is_ours(name)}
    for name in ("arg_attrs", "res_attrs"):
        entries = cast("ArrayAttr[DictionaryAttr] | None", op.properties.get(name))
        if entries is None:
            continue
        if any(_is_ours(key) for table in entries for key in table.data):
            dropped[name] = entries
        kept = ({k: v for k, v in table.data.items() if not _is_ours(k)} for table in entries)
        op.properties[name] = ArrayAttr([DictionaryAttr(table) for table in kept])
    for name, value in _REQUIRED.get(op.name, {}).items():
        op.properties.setdefault(name, value)
    return dropped


def _text(attributes: Mapping[str, Attribute]) -> StringAttr:
    return StringAttr(str(DictionaryAttr(attributes)))


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in OWN_DIALECTS and "." in name
