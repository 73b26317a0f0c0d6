"""The instructions of LLVM IR: a small function for each kind of op, found by the op's class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntAttr, IntegerAttr, VectorType
from xdsl.dialects.utils import FastMathAttrBase
from xdsl.ir import Operation

from stepwell.dialects.llvm import instructions as ours
from stepwell.lowering.emit_llvm.function import Emit, FunctionEmitter
from stepwell.runtime.errors import StepwellError

_ALL_FAST_FLAGS = 7
_GEP_SSA_INDEX = llvm.GEP_USE_SSA_VAL


def fast_flags(op: Operation) -> str:
    """The fast-math flags of an op, each followed by a space; empty without flags."""
    flags = op.properties.get("fastmathFlags")
    return _flag_words(flags) if isinstance(flags, FastMathAttrBase) and flags.data else ""


@lru_cache(maxsize=256)
def _flag_words(flags: FastMathAttrBase) -> str:
    """The flags of fast math as LLVM spells them, each followed by a space."""
    if len(flags.data) == _ALL_FAST_FLAGS:
        return "fast "
    return " ".join(sorted(flag.value for flag in flags.data)) + " "


def _integer_flags(op: Operation) -> str:
    """The overflow and exactness flags of an integer op, each followed by a space."""
    if not op.properties:
        return ""
    text = ""
    match op.properties.get("overflowFlags"):
        case IntegerAttr(value=bits):
            text += ("nsw " if bits.data & 1 else "") + ("nuw " if bits.data & 2 else "")
        case llvm.OverflowAttr(data=flags):
            text += "".join(f"{flag.value} " for flag in sorted(flags))
        case _:
            pass
    for name, word in (("isExact", "exact "), ("isDisjoint", "disjoint "), ("nonNeg", "nneg ")):
        text += word if name in op.properties else ""
    return text


def _binary(word: str, flags: Callable[[Operation], str]) -> Emit:
    """An instruction with two operands of one type: `add nsw i64 %a, %b`, `fadd contract float %a, %b`."""

    def emit(f: FunctionEmitter, op: Operation) -> str:
        lhs, rhs = op.operands
        return f"{word} {flags(op)}{f.types(lhs.type)} {f.name(lhs)}, {f.name(rhs)}"

    return emit


def _cast(word: str) -> Emit:
    """A conversion: `sext i32 %a to i64`."""

    def emit(f: FunctionEmitter, op: Operation) -> str:
        return f"{word} {_integer_flags(op)}{f.typed(op.operands[0])} to {f.types(op.results[0].type)}"

    return emit


def _compare(word: str, predicates: Sequence[str]) -> Emit:
    """A comparison: `icmp slt i64 %a, %b`."""

    def emit(f: FunctionEmitter, op: Operation) -> str:
        lhs, rhs = op.operands
        predicate = op.properties["predicate"]
        assert isinstance(predicate, IntegerAttr)
        condition = predicates[predicate.value.data].removeprefix("_")
        return f"{word} {fast_flags(op)}{condition} {f.types(lhs.type)} {f.name(lhs)}, {f.name(rhs)}"

    return emit


def _operands(word: str) -> Emit:
    """An instruction of operands with their types, and nothing else."""

    def emit(f: FunctionEmitter, op: Operation) -> str:
        return f"{word} {fast_flags(op)}{f.typed_list(op.operands)}"

    return emit


def alignment_of(op: Operation, type: object) -> str:
    """
    The alignment of an access: `, align 4`; empty for a scalar access without one.

    Raises: StepwellError `invalid-ir` for a vector access without alignment.
    """
    alignment = op.properties.get("alignment")
    if isinstance(alignment, IntegerAttr):
        return f", align {alignment.value.data}"
    if isinstance(type, VectorType):
        raise StepwellError(
            "invalid-ir",
            op,
            f"{op.name} of a vector needs its alignment",
            note="without one LLVM assumes the vector's own size, and faults on rows that are less aligned",
            help="add {alignment = 4 : i64}",
        )
    return ""


def _ordering(op: Operation) -> tuple[str, str]:
    """The keyword before and the ordering after an atomic access; both empty for ordinary ones."""
    ordering = op.properties.get("ordering")
    if not isinstance(ordering, IntegerAttr) or ordering.value.data == 0:
        return "", ""
    return "atomic ", " " + llvm.ATOMIC_ORDERING_KEYWORDS[ordering.value.data]


def _load(f: FunctionEmitter, op: Operation) -> str:
    """A load: `load float, ptr %p, align 4`."""
    (result,), (address,) = op.results, op.operands
    type = result.type
    atomic, order = _ordering(op)
    access = f"{f.typed(address)}{order}{alignment_of(op, type)}"
    return f"load {atomic}{f.types(type)}, {access}"


def _store(f: FunctionEmitter, op: Operation) -> str:
    """A store, with its hint if it bypasses the caches: `store float %x, ptr %p, align 4`."""
    value, address = op.operands
    atomic, order = _ordering(op)
    volatile = "volatile " if "volatile_" in op.properties else ""
    access = f"{f.typed(address)}{order}{alignment_of(op, value.type)}"
    hint = f", !nontemporal {f.module.metadata('!{i32 1}')}" if "nontemporal" in op.properties else ""
    return f"store {atomic}{volatile}{f.typed(value)}, {access}{hint}"


def _getelementptr(f: FunctionEmitter, op: Operation) -> str:
    """An address computation: `getelementptr inbounds float, ptr %p, i64 %i`."""
    indices = op.properties["rawConstantIndices"]
    assert isinstance(indices, DenseArrayBase)
    base, *offsets = op.operands
    dynamic = iter(offsets)
    texts = [
        f.typed(next(dynamic)) if index == _GEP_SSA_INDEX else f"i64 {index}"
        for index in indices.get_values()
    ]
    # Fields of structs are numbered by i32.
    if len(texts) > 1 and isinstance(op.properties["elem_type"], llvm.LLVMStructType):
        texts[1] = texts[1].replace("i64", "i32")
    inbounds = "inbounds " if "inbounds" in op.properties else ""
    element = f.types(op.properties["elem_type"])
    return f"getelementptr {inbounds}{element}, {f.typed(base)}, {', '.join(texts)}"


def _alloca(f: FunctionEmitter, op: Operation) -> str:
    """An allocation on the stack: `alloca [4 x float], i64 1, align 64`, and its address space."""
    element, type = f.types(op.properties["elem_type"]), op.results[0].type
    assert isinstance(type, llvm.LLVMPointerType)
    space = type.addr_space.data if isinstance(type.addr_space, IntAttr) else 0
    where = f", addrspace({space})" if space else ""
    return f"alloca {element}, {f.typed(op.operands[0])}{alignment_of(op, None)}{where}"


def _shuffle(f: FunctionEmitter, op: Operation) -> str:
    """A shuffle with a constant mask; a mask of zeros is `zeroinitializer`."""
    mask = op.properties["mask"]
    assert isinstance(mask, DenseArrayBase)
    lanes = mask.get_values()
    if any(lanes):
        text = "<" + ", ".join(f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in lanes) + ">"
    else:
        text = "zeroinitializer"
    return f"shufflevector {f.typed_list(op.operands)}, <{len(lanes)} x i32> {text}"


def _aggregate(word: str) -> Emit:
    """An access to a field of a struct or array by constant position."""

    def emit(f: FunctionEmitter, op: Operation) -> str:
        position = op.properties["position"]
        assert isinstance(position, DenseArrayBase)
        return f"{word} {f.typed_list(op.operands)}, {', '.join(str(i) for i in position.get_values())}"

    return emit


def _call(f: FunctionEmitter, op: Operation) -> str:
    """A direct or indirect call, with its tail-call kind and calling convention."""
    assert isinstance(op, llvm.CallOp)
    if op.op_bundle_operands:
        raise StepwellError("unsupported", op, "operand bundles have no LLVM IR")
    words = ["" if op.TailCallKind.data.value == "none" else f"{op.TailCallKind.data.value} ", "call "]
    words.append(fast_flags(op))
    if (convention := op.CConv.convention.data) != "ccc":
        words.append(f"{convention} ")
    words.append(f.types(op.var_callee_type or (op.returned.type if op.returned else llvm.LLVMVoidType())))
    args = list(op.args)
    if op.callee is not None:
        callee = f"@{op.callee.root_reference.data}"
    else:
        callee = f.name(args.pop(0))
    return f"{''.join(words)} {callee}({f.typed_list(args)})"


def _atomic_rmw(f: FunctionEmitter, op: Operation) -> str:
    """An atomic read-modify-write: `atomicrmw add ptr %p, i64 %x monotonic`."""
    assert isinstance(op, ours.AtomicRMWOp)
    return f"atomicrmw {op.bin_op.data} {f.typed(op.ptr)}, {f.typed(op.val)} {op.ordering.data}"


def _br(f: FunctionEmitter, op: Operation) -> str:
    """An unconditional branch, with loop hints if it is a back edge."""
    return f"br {f.edges(op)[0]}{f.loop_suffix(op)}"


def _cond_br(f: FunctionEmitter, op: Operation) -> str:
    """A conditional branch, with loop hints if it is a back edge."""
    then, other = f.edges(op)
    return f"br i1 {f.name(op.operands[0])}, {then}, {other}{f.loop_suffix(op)}"


def _switch(f: FunctionEmitter, op: Operation) -> str:
    """A switch over integer cases: `switch i64 %x, label %b1 [ i64 2, label %b2 ]`."""
    assert isinstance(op, ours.SwitchOp) and isinstance(op.case_values, DenseIntOrFPElementsAttr)
    default, *cases = f.edges(op)
    type = f.types(op.value.type)
    values = op.case_values.get_values()
    table = " ".join(f"{type} {value}, {case}" for value, case in zip(values, cases, strict=True))
    return f"switch {f.typed(op.value)}, {default} [ {table} ]"


def _return(f: FunctionEmitter, op: Operation) -> str:
    """A return of a value or of nothing."""
    return f"ret {f.typed(op.operands[0])}" if op.operands else "ret void"


_INTEGER_PREDICATES = tuple(flag.value for flag in llvm.ICmpPredicateFlag)

INSTRUCTIONS: dict[type[Operation], Emit | None] = {
    **{
        op: _binary(op.name.removeprefix("llvm."), _integer_flags)
        for op in (
            llvm.AddOp, llvm.SubOp, llvm.MulOp, llvm.UDivOp, llvm.SDivOp, llvm.URemOp, llvm.SRemOp,
            llvm.AndOp, llvm.OrOp, llvm.XOrOp, llvm.ShlOp, llvm.LShrOp, llvm.AShrOp,
        )
    },
    **{
        op: _binary(op.name.removeprefix("llvm."), fast_flags)
        for op in (llvm.FAddOp, llvm.FSubOp, llvm.FMulOp, llvm.FDivOp, llvm.FRemOp)
    },
    **{
        op: _cast(op.name.removeprefix("llvm."))
        for op in (
            llvm.TruncOp, llvm.ZExtOp, llvm.SExtOp, llvm.BitcastOp, llvm.SIToFPOp, llvm.FPExtOp,
            llvm.FPTruncOp, llvm.PtrToIntOp, llvm.IntToPtrOp, ours.UIToFPOp, ours.FPToSIOp, ours.FPToUIOp,
            ours.AddrSpaceCastOp,
        )
    },
    llvm.FNegOp: _operands("fneg"),
    ours.FreezeOp: _operands("freeze"),
    ours.SelectOp: _operands("select"),
    ours.ExtractElementOp: _operands("extractelement"),
    llvm.InsertElementOp: _operands("insertelement"),
    llvm.ICmpOp: _compare("icmp", _INTEGER_PREDICATES),
    ours.FCmpOp: _compare("fcmp", ours.FCMP_PREDICATES),
    llvm.LoadOp: _load,
    llvm.StoreOp: _store,
    llvm.GEPOp: _getelementptr,
    llvm.AllocaOp: _alloca,
    llvm.ShuffleVectorOp: _shuffle,
    llvm.ExtractValueOp: _aggregate("extractvalue"),
    llvm.InsertValueOp: _aggregate("insertvalue"),
    llvm.CallOp: _call,
    ours.AtomicRMWOp: _atomic_rmw,
    llvm.BrOp: _br,
    llvm.CondBrOp: _cond_br,
    ours.SwitchOp: _switch,
    llvm.ReturnOp: _return,
    llvm.UnreachableOp: lambda f, op: "unreachable",
    # Constants are written at their uses.
    llvm.ConstantOp: None,
    llvm.AddressOfOp: None,
    llvm.UndefOp: None,
    ours.ZeroOp: None,
    ours.PoisonOp: None,
}  # fmt: skip
