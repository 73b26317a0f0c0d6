"""LLVM's intrinsics: calls of overloaded functions, whose names spell their types."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.llvm import intrinsics as ours
from stepwell.dialects.llvm import memory
from stepwell.lowering.emit_llvm.function import Emit, FunctionEmitter
from stepwell.lowering.emit_llvm.instructions import alignment_of, fast_flags
from stepwell.runtime.errors import StepwellError


def _base(op: type[Operation]) -> str:
    """The name of an intrinsic without the types that it is overloaded on."""
    return "llvm." + op.name.removeprefix("llvm.intr.")


def _overloaded(op_type: type[Operation], on: Callable[[Operation], Sequence[SSAValue]]) -> Emit:
    """A call of an intrinsic whose name spells the types of some values of the op: `@llvm.fma.v16f32`."""
    base = _base(op_type)

    def emit(f: FunctionEmitter, op: Operation) -> str:
        name = ".".join([base, *(f.types.mangle(value.type) for value in on(op))])
        return f"call {fast_flags(op)}{f.module.call(name, op, op.operands, f)}"

    return emit


def _result(op: Operation) -> Sequence[SSAValue]:
    return op.results


def _vector(op: Operation) -> Sequence[SSAValue]:
    """The last operand, a vector: `@llvm.vector.reduce.fadd.v16f32`."""
    return op.operands[-1:]


def _result_and_operand(op: Operation) -> Sequence[SSAValue]:
    """The types that a conversion is between: `@llvm.fptosi.sat.i8.f32`."""
    return op.results[0], op.operands[0]


def _first_operand(op: Operation) -> Sequence[SSAValue]:
    """The type of the operands, where the result is a struct: `@llvm.smul.with.overflow.i64`."""
    return op.operands[:1]


def _with_flag(op_type: type[ours.CountIntrinsic | ours.AbsOp]) -> Emit:
    """
    A call with a constant i1, whether the exceptional input is poison: `@llvm.ctlz.i32(i32 %x, i1 false)`.
    """
    base = _base(op_type)

    def emit(f: FunctionEmitter, op: Operation) -> str:
        type = op.results[0].type
        name = f"{base}.{f.types.mangle(type)}"
        flag = op.properties.get(op_type.FLAG)
        word = "true" if isinstance(flag, IntegerAttr) and flag.value.data else "false"
        f.module.declare_text(name, f"{f.types(type)} @{name}({f.types(type)}, i1)")
        return f"call {f.types(type)} @{name}({f.typed(op.operands[0])}, i1 {word})"

    return emit


def _masked(name: str, pointer: int) -> Emit:
    """A call of a masked access; the alignment is an attribute of the operand that is the pointer."""

    def emit(f: FunctionEmitter, op: Operation) -> str:
        vector = op.results[0].type if op.results else op.operands[0].type
        full_name = f"llvm.masked.{name}.{f.types.mangle(vector)}.{f.types.mangle(op.operands[pointer].type)}"
        output = vector if op.results else None
        f.module.declare(full_name, output, [v.type for v in op.operands])
        align = alignment_of(op, vector).removeprefix(",")
        arguments = ", ".join(
            f"{f.types(v.type)}{align} {f.name(v)}" if index == pointer else f.typed(v)
            for index, v in enumerate(op.operands)
        )
        return f"call {'void' if output is None else f.types(output)} @{full_name}({arguments})"

    return emit


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


def _fence(f: FunctionEmitter, op: Operation) -> str:
    """`fence syncscope("workgroup") release`."""
    assert isinstance(op, memory.FenceOp)
    return f'fence syncscope("{op.scope.data}") {op.ordering.data}'


def _call_intrinsic(f: FunctionEmitter, op: Operation) -> str:
    """A call of an intrinsic that the op names itself."""
    assert isinstance(op, llvm.CallIntrinsicOp)
    if op.op_bundle_operands:
        raise StepwellError("unsupported", op, "operand bundles have no LLVM IR")
    return f"call {fast_flags(op)}{f.module.call(op.intrin.data, op, op.args, f)}"


INTRINSICS: dict[type[Operation], Emit | None] = {
    **{
        op: _overloaded(op, _result)
        for op in (
            llvm.FAbsOp, llvm.FCeilOp, llvm.FFloorOp, llvm.FSqrtOp, llvm.FExpOp, llvm.FExp2Op, llvm.FLogOp,
            llvm.FLog2Op, llvm.FSinOp, llvm.FCosOp, llvm.FPowOp, llvm.FCopySignOp, llvm.FMAOp,
            llvm.VectorFMaxOp, llvm.VectorFMinOp, ours.FMulAddOp, ours.MaximumOp, ours.MinimumOp,
            ours.RintOp, ours.RoundOp, ours.RoundEvenOp, ours.TruncFOp, ours.SMaxOp, ours.SMinOp,
            ours.UMaxOp, ours.UMinOp, ours.CtpopOp,
        )
    },
    **{
        op: _overloaded(op, _vector)
        for op in (
            llvm.VectorReduceFAddOp, llvm.VectorReduceFMulOp, ours.VectorReduceAddOp, ours.VectorReduceMulOp,
            ours.VectorReduceAndOp, ours.VectorReduceOrOp, ours.VectorReduceXorOp, ours.VectorReduceSMaxOp,
            ours.VectorReduceSMinOp, ours.VectorReduceUMaxOp, ours.VectorReduceUMinOp,
            ours.VectorReduceFMaxOp, ours.VectorReduceFMinOp, ours.VectorReduceFMaximumOp,
            ours.VectorReduceFMinimumOp,
        )
    },
    **{op: _overloaded(op, _result_and_operand) for op in (ours.FPToSISatOp, ours.FPToUISatOp)},
    **{op: _overloaded(op, _first_operand) for op in (ours.SAddWithOverflowOp, ours.SMulWithOverflowOp)},
    **{op: _with_flag(op) for op in (ours.AbsOp, ours.CtlzOp, ours.CttzOp)},
    memory.MaskedLoadOp: _masked("load", 0),
    llvm.MaskedStoreOp: _masked("store", 1),
    memory.MaskedGatherOp: _masked("gather", 0),
    memory.MaskedScatterOp: _masked("scatter", 1),
    memory.MemcpyOp: _memory("memcpy"),
    memory.MemsetOp: _memory("memset"),
    memory.PrefetchOp: _prefetch,
    memory.FenceOp: _fence,
    llvm.StackSaveOp: _stack_save,
    llvm.StackRestoreOp: _stack_restore,
    llvm.CallIntrinsicOp: _call_intrinsic,
}  # fmt: skip
