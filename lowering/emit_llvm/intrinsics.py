"""LLVM's intrinsics: calls of overloaded functions, whose names spell their types."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from stepwell.dialects.llvm import intrinsics as ours
from stepwell.dialects.llvm import memory
from stepwell.lowering.emit_llvm.function import Emit, FunctionEmitter
from stepwell.lowering.emit_llvm.instructions import alignment_of, fast_flags
from stepwell.runtime.errors import StepwellError


def _base(op: type[Operation]) -> str:
    """The name of an intrinsic without the types that it is overloaded on."""
    return "llvm." + op.name.removeprefix("llvm.intr.")


def _by_result(op_type: type[Operation]) -> Emit:
    """A call of an intrinsic overloaded on its result type: `@llvm.fma.v16f32`."""
    base = _base(op_type)

    def emit(f: FunctionEmitter, op: Operation) -> str:
        name = f"{base}.{f.types.mangle(op.results[0].type)}"
        return f"call {fast_flags(op)}{f.module.call(name, op, op.operands, f)}"

    return emit


def _by_vector(op_type: type[Operation]) -> Emit:
    """A call of an intrinsic overloaded on its last operand, a vector: `@llvm.vector.reduce.fadd.v16f32`."""
    base = _base(op_type)

    def emit(f: FunctionEmitter, op: Operation) -> str:
        name = f"{base}.{f.types.mangle(op.operands[-1].type)}"
        return f"call {fast_flags(op)}{f.module.call(name, op, op.operands, f)}"

    return emit


def _saturating(op_type: type[Operation]) -> Emit:
    """A call of an intrinsic overloaded on result and operand: `@llvm.fptosi.sat.i8.f32`."""
    base = _base(op_type)

    def emit(f: FunctionEmitter, op: Operation) -> str:
        name = f"{base}.{f.types.mangle(op.results[0].type)}.{f.types.mangle(op.operands[0].type)}"
        return f"call {f.module.call(name, op, op.operands, f)}"

    return emit


def _with_flag(op_type: type[Operation]) -> Emit:
    """
    A call with a constant i1, whether the exceptional input is poison: `@llvm.ctlz.i32(i32 %x, i1 false)`.
    """
    base = _base(op_type)

    def emit(f: FunctionEmitter, op: Operation) -> str:
        type = op.results[0].type
        name = f"{base}.{f.types.mangle(type)}"
        flag = op.properties.get("is_poison")
        word = "true" if isinstance(flag, IntegerAttr) and flag.value.data else "false"
        f.module.declare_text(name, f"{f.types(type)} @{name}({f.types(type)}, i1)")
        return f"call {f.types(type)} @{name}({f.typed(op.operands[0])}, i1 {word})"

    return emit


def _aligned(f: FunctionEmitter, op: Operation, pointer: int) -> str:
    """The arguments of a masked access; the alignment is an attribute of the pointer's."""
    vector = op.results[0].type if op.results else op.operands[0].type
    align = alignment_of(op, vector).removeprefix(",")
    return ", ".join(
        f"{f.types(v.type)}{align} {f.name(v)}" if index == pointer else f.typed(v)
        for index, v in enumerate(op.operands)
    )


def _masked_load(f: FunctionEmitter, op: Operation) -> str:
    """A call of `@llvm.masked.load`."""
    vector = op.results[0].type
    name = f"llvm.masked.load.{f.types.mangle(vector)}.{f.types.mangle(op.operands[0].type)}"
    f.module.declare(name, vector, [v.type for v in op.operands])
    return f"call {f.types(vector)} @{name}({_aligned(f, op, 0)})"


def _masked_store(f: FunctionEmitter, op: Operation) -> str:
    """A call of `@llvm.masked.store`."""
    value, pointer, _ = op.operands
    name = f"llvm.masked.store.{f.types.mangle(value.type)}.{f.types.mangle(pointer.type)}"
    f.module.declare(name, None, [v.type for v in op.operands])
    return f"call void @{name}({_aligned(f, op, 1)})"


def _masked_gather(f: FunctionEmitter, op: Operation) -> str:
    """A call of `@llvm.masked.gather`."""
    vector = op.results[0].type
    name = f"llvm.masked.gather.{f.types.mangle(vector)}.{f.types.mangle(op.operands[0].type)}"
    f.module.declare(name, vector, [v.type for v in op.operands])
    return f"call {f.types(vector)} @{name}({_aligned(f, op, 0)})"


def _masked_scatter(f: FunctionEmitter, op: Operation) -> str:
    """A call of `@llvm.masked.scatter`."""
    value, pointers, _ = op.operands
    name = f"llvm.masked.scatter.{f.types.mangle(value.type)}.{f.types.mangle(pointers.type)}"
    f.module.declare(name, None, [v.type for v in op.operands])
    return f"call void @{name}({_aligned(f, op, 1)})"


def _memory(name: str) -> Emit:
    """A call of `memcpy` or `memset`, not volatile."""

    def emit(f: FunctionEmitter, op: Operation) -> str:
        kinds = ".".join(
            f.types.mangle(v.type)
            for v in op.operands
            if isinstance(v.type, llvm.LLVMPointerType) or v is op.operands[-1]
        )
        types = ", ".join(f.types(v.type) for v in op.operands)
        f.module.declare_text(f"llvm.{name}.{kinds}", f"void @llvm.{name}.{kinds}({types}, i1)")
        return f"call void @llvm.{name}.{kinds}({f.typed_list(op.operands)}, i1 false)"

    return emit


def _prefetch(f: FunctionEmitter, op: Operation) -> str:
    """A call of `@llvm.prefetch` for data."""
    assert isinstance(op, memory.PrefetchOp)
    name = f"llvm.prefetch.{f.types.mangle(op.addr.type)}"
    f.module.declare_text(name, f"void @{name}({f.types(op.addr.type)}, i32, i32, i32)")
    hints = f"i32 {op.rw.value.data}, i32 {op.hint.value.data}, i32 1"
    return f"call void @{name}({f.typed(op.addr)}, {hints})"


def _stack_save(f: FunctionEmitter, op: Operation) -> str:
    """A call of `@llvm.stacksave`."""
    return f"call {f.module.call('llvm.stacksave.p0', op, (), f)}"


def _stack_restore(f: FunctionEmitter, op: Operation) -> str:
    """A call of `@llvm.stackrestore`."""
    return f"call {f.module.call('llvm.stackrestore.p0', op, op.operands, f)}"


def _call_intrinsic(f: FunctionEmitter, op: Operation) -> str:
    """A call of an intrinsic that the op names itself."""
    assert isinstance(op, llvm.CallIntrinsicOp)
    if op.op_bundle_operands:
        raise StepwellError("unsupported", op, "operand bundles have no LLVM IR")
    return f"call {fast_flags(op)}{f.module.call(op.intrin.data, op, op.args, f)}"


INTRINSICS: dict[type[Operation], Emit | None] = {
    **{
        op: _by_result(op)
        for op in (
            llvm.FAbsOp, llvm.FCeilOp, llvm.FFloorOp, llvm.FSqrtOp, llvm.FExpOp, llvm.FExp2Op, llvm.FLogOp,
            llvm.FLog2Op, llvm.FSinOp, llvm.FCosOp, llvm.FPowOp, llvm.FCopySignOp, llvm.FMAOp,
            llvm.VectorFMaxOp, llvm.VectorFMinOp, ours.FMulAddOp, ours.MaximumOp, ours.MinimumOp,
            ours.RintOp, ours.RoundOp, ours.RoundEvenOp, ours.TruncFOp, ours.SMaxOp, ours.SMinOp,
            ours.UMaxOp, ours.UMinOp, ours.CtpopOp,
        )
    },
    **{
        op: _by_vector(op)
        for op in (
            llvm.VectorReduceFAddOp, llvm.VectorReduceFMulOp, ours.VectorReduceAddOp, ours.VectorReduceMulOp,
            ours.VectorReduceAndOp, ours.VectorReduceOrOp, ours.VectorReduceXorOp, ours.VectorReduceSMaxOp,
            ours.VectorReduceSMinOp, ours.VectorReduceUMaxOp, ours.VectorReduceUMinOp,
            ours.VectorReduceFMaxOp, ours.VectorReduceFMinOp, ours.VectorReduceFMaximumOp,
            ours.VectorReduceFMinimumOp,
        )
    },
    **{op: _saturating(op) for op in (ours.FPToSISatOp, ours.FPToUISatOp)},
    **{op: _with_flag(op) for op in (ours.AbsOp, ours.CtlzOp, ours.CttzOp)},
    memory.MaskedLoadOp: _masked_load,
    llvm.MaskedStoreOp: _masked_store,
    memory.MaskedGatherOp: _masked_gather,
    memory.MaskedScatterOp: _masked_scatter,
    memory.MemcpyOp: _memory("memcpy"),
    memory.MemsetOp: _memory("memset"),
    memory.PrefetchOp: _prefetch,
    llvm.StackSaveOp: _stack_save,
    llvm.StackRestoreOp: _stack_restore,
    llvm.CallIntrinsicOp: _call_intrinsic,
}  # fmt: skip
