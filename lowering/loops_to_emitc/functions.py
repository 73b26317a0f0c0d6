"""`func` → functions in C: kernels return nothing, `@main` a status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, IndexType, MemRefType, NoneAttr, StringAttr, i32
from xdsl.dialects.emitc import EmitC_OpaqueType, EmitC_PointerType
from xdsl.ir import Attribute, BlockArgument, Operation, Region
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects import emitc
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.ir_builder import Index, number_attr
from stepwell.dialects.locations import fused_location, node_names
from stepwell.dialects.sched_kernel import symbols_of
from stepwell.dialects.sched_program import has_memory, program_of
from stepwell.dialects.types import DimsAttr
from stepwell.lowering.loops_to_emitc.pattern import (
    I64,
    Code,
    LoopsToEmitCPattern,
    dense_layout,
    pointer_type,
)
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

CALL = EmitC_PointerType(EmitC_OpaqueType(StringAttr("model_call")))
"""The caller's struct, the first argument of `@main`."""
VOID = EmitC_OpaqueType(StringAttr("void"))
MAIN_FUNCTION = "model_main"
"""The name of `@main` in C."""
COMMENT = "comment"
"""Key of a function's comment: the nodes of the model that it computes."""
_STATIC = ArrayAttr([StringAttr("static")])


class FunctionLowering(LoopsToEmitCPattern):
    """
    ```mlir
    func.func private @k(%x: memref<4xf32>, %N: index)
        attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 0, symbols = ["N"]>} { func.return }
    // ->
    emitc.func @k(%x: !emitc.ptr<f32>, %N: index) attributes {specifiers = ["static"]} { emitc.return }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: func.FuncOp, rewriter: PatternRewriter) -> None:
        """Move the body into a function of C, whose memrefs are pointers with layouts."""
        if op.is_declaration:
            raise StepwellError("unsupported", op, f"@{op.sym_name.data} has no body to write in C")
        nodes = node_names(fused_location([inner for inner in op.walk() if inner is not op]))
        is_main = has_memory(op)
        body = Region()
        op.body.move_blocks(body)
        block = body.block
        code = Code.before(block.first_op or op)
        symbols = self._symbols(op, block.args)
        code.symbols = symbols
        for arg in block.args:
            if isinstance(arg.type, MemRefType):
                self._enter(op, code, arg)
        rewriter.insert(code.ops, InsertPoint.at_start(block))
        if is_main:
            self._enter_main(op, block.args, body)
        outputs = [i32] if is_main else []
        type = FunctionType.from_lists([arg.type for arg in block.args], outputs)
        new = emitc.FuncOp(MAIN_FUNCTION if is_main else op.sym_name.data, type, body)
        new.attributes["specifiers"] = _STATIC
        if nodes and not is_main:
            new.attributes[COMMENT] = ArrayAttr(map(StringAttr, dict.fromkeys(nodes)))
        rewriter.replace(op, new, [])

    def _symbols(self, op: func.FuncOp, args: tuple[BlockArgument, ...]) -> dict[str, BlockArgument]:
        """The index arguments by the names of the function's symbols."""
        indices = [arg for arg in args if isinstance(arg.type, IndexType)]
        names = symbols_of(op)
        if len(names) != len(indices):
            message = f"a function names each index argument, found {len(names)} names for {len(indices)}"
            raise StepwellError("invalid-ir", op, message)
        for name, arg in zip(names, indices, strict=True):
            arg.name_hint = arg.name_hint or name
        return dict(zip(names, indices, strict=True))

    def _enter(self, op: func.FuncOp, code: Code, arg: BlockArgument) -> None:
        """Make an argument a pointer and record its layout."""
        type = cast("MemRefType[Attribute]", arg.type)
        if not isinstance(type.layout, NoneAttr):
            message = f"argument of type {type}: functions take dense memrefs only"
            raise StepwellError("unsupported", op, message)
        attributes: Mapping[str, Attribute] = op.arg_attrs.data[arg.index].data if op.arg_attrs else {}
        named = attributes.get("graph.dims")
        dims = named.get() if isinstance(named, DimsAttr) else (Dim.symbol("?"),) * type.get_num_dims()
        is_used = arg.first_use is not None
        set_type(arg, pointer_type(type))
        if is_used:
            sizes: list[Index | None] = []
            for size, dim in zip(type.get_shape(), dims, strict=True):
                known = size >= 0 or dim.symbols() <= code.symbols.keys()
                sizes.append((size if size >= 0 else code.size(dim)) if known else None)
            self.state.layouts[arg] = dense_layout(op, code, type.element_type, sizes)

    def _enter_main(self, op: func.FuncOp, args: tuple[BlockArgument, ...], body: Region) -> None:
        """Add arguments for the caller's struct and memory before the others of `@main`."""
        program = program_of(op)
        assert program is not None
        kinds = [("in", program.inputs.data), ("out", program.outputs.data), ("workspace", program.memories)]
        names = [name if count == 1 else f"{name}{i}" for name, count in kinds for i in range(count)]
        for arg, name in zip(args, names, strict=False):
            arg.name_hint = arg.name_hint or name
        hidden: list[tuple[str, Attribute]] = [("call", CALL)]
        if program.published.data:
            hidden.append(("shapes", EmitC_PointerType(I64)))
        if program.slots.data:
            hidden.append(("allocated", EmitC_PointerType(EmitC_PointerType(VOID))))
        for index, (name, type) in enumerate(hidden):
            body.block.insert_arg(type, index).name_hint = name


class ReturnLowering(LoopsToEmitCPattern):
    """
    ```mlir
    … func.return
    // ->
    emitc.return
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: func.ReturnOp, rewriter: PatternRewriter) -> None:
        """Return nothing from a kernel, and 0 from `@main`."""
        if op.operands:
            raise StepwellError("unsupported", op, "a kernel returns nothing: its results are arguments")
        parent = op.parent_op()
        if isinstance(parent, emitc.FuncOp) and parent.function_type.outputs.data:
            ok = emitc.ConstantOp(number_attr(0, i32))
            rewriter.replace(op, [ok, emitc.ReturnOp(ok.result)], [])
        else:
            rewriter.replace(op, emitc.ReturnOp(), [])


class CallLowering(LoopsToEmitCPattern):
    """
    ```mlir
    func.call @k(%x, %N) : (memref<4xf32>, index) -> ()
    // -> …
    emitc.call @k(%x, %N) : (!emitc.ptr<f32>, index) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: func.CallOp, rewriter: PatternRewriter) -> None:
        """Call the kernel of that name with pointers to dense memory."""
        callee = op.callee.root_reference.data
        if callee not in self.state.kernels or op.results:
            raise StepwellError("unsupported", op, f"@{callee} is no kernel, and only those are called in C")
        for value in op.operands:
            if value in self.state.layouts and not self.state.layouts[value].is_dense:
                raise StepwellError("unsupported", op, f"@{callee} takes dense memrefs, found a view")
        rewriter.replace(op, emitc.CallOp(callee, list(op.operands)), [])


def main_argument(op: Operation, name: str) -> BlockArgument:
    """An argument by which `@main` reaches the caller. Raises: StepwellError `unsupported` elsewhere."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, emitc.FuncOp):
        parent = parent.parent_op()
    if parent is not None:
        for arg in parent.body.block.args:
            if arg.name_hint == name and parent.sym_name.data == MAIN_FUNCTION:
                return arg
    raise StepwellError("unsupported", op, f"{op.name} outside of @main")
