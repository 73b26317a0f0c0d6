"""The text of a function in LLVM IR: names of values, blocks, phis, hints for loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from stepwell.dialects.llvm.instructions import PoisonOp, SwitchOp, ZeroOp
from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    from stepwell.lowering.emit_llvm.module import ModuleEmitter

LOOP_ATTRIBUTE = "llvm.loop"
"""On the branch back to a loop's head: names of LLVM's loop hints, such as `llvm.loop.unroll.disable`."""

Edge: TypeAlias = tuple[Block, Sequence[SSAValue]]


class FunctionEmitter:
    """The text of a function's blocks; values are named on their first occurrence, in any order of blocks."""

    def __init__(self, module: ModuleEmitter):
        self.module = module
        self.types = module.types
        self._names: dict[SSAValue, str] = {}
        self._labels: dict[Block, str] = {}
        self._edges: dict[Operation, list[str]] = {}
        self._incoming: dict[Block, list[tuple[str, Sequence[SSAValue]]]] = {}
        self._detours: list[str] = []

    def name(self, value: SSAValue) -> str:
        """An operand as text: a register's name, or a constant itself."""
        if (name := self._names.get(value)) is not None:
            return name
        name = self._constant(value) if value.owner.__class__ in _CONSTANTS else None
        if name is None:
            name = f"%{value.name_hint or 'v'}.{len(self._names)}"
        self._names[value] = name
        return name

    def typed(self, value: SSAValue) -> str:
        """An operand with its type: `float %x.3`."""
        return f"{self.types(value.type)} {self.name(value)}"

    def typed_list(self, values: Sequence[SSAValue]) -> str:
        """Operands with their types, separated by commas, as in a call."""
        return ", ".join(map(self.typed, values))

    def edges(self, op: Operation) -> list[str]:
        """The targets of a terminator, one text for each successor: `label %b3`."""
        return self._edges[op]

    def emit(self, func: llvm.FuncOp, emitters: Mapping[type[Operation], Emit | None]) -> list[str]:
        """The lines between a function's braces."""
        blocks = list(func.body.blocks)
        self._labels = {block: f"b{index}" for index, block in enumerate(blocks)}
        self._connect(blocks)
        lines: list[str] = []
        for block in blocks:
            lines.append(f"{self._labels[block]}:")
            if block is not blocks[0]:
                lines += self._phis(block)
            for op in block.ops:
                emit = emitters.get(op.__class__, _refuse)
                if emit is None:
                    continue  # a constant, written at its uses
                try:
                    text = emit(self, op)
                except StepwellError as error:
                    if error.where:
                        raise
                    raise StepwellError(
                        error.code, op, f"{op.name}: {error.message}", note=error.notes, help=error.help
                    ) from None
                if self.module.debug is not None:
                    text += self.module.debug.suffix(op)
                for result in op.results:
                    text = f"{self.name(result)} = {text}"
                lines.append(f"  {text}")
        return [*lines, *self._detours]

    def _constant(self, value: SSAValue) -> str | None:
        """The text of a constant; None for values that need a register."""
        match value.owner:
            case llvm.ConstantOp(value=constant):
                return self.types.constant(constant, value.type)
            case ZeroOp() | llvm.ZeroOp():
                return "null" if isinstance(value.type, llvm.LLVMPointerType) else "zeroinitializer"
            case llvm.UndefOp():
                return "undef"
            case PoisonOp():
                return "poison"
            case llvm.AddressOfOp(global_name=symbol):
                return f"@{symbol.root_reference.data}"
            case _:
                return None

    def _connect(self, blocks: Sequence[Block]) -> None:
        """
        Collect the incoming values of each block's phis, by predecessor.

        A phi has one value for each predecessor, so a second edge between the same two blocks with other
        values gets a block of its own.
        """
        for block in blocks:
            if (terminator := block.last_op) is None:
                raise StepwellError("invalid-ir", None, "a block without terminator has no LLVM IR")
            label = self._labels[block]
            seen: dict[Block, Sequence[SSAValue]] = {}
            texts: list[str] = []
            for target, values in branch_edges(terminator):
                source = label
                if values and target in seen and list(seen[target]) != list(values):
                    source = f"{label}.{len(texts)}"
                    self._detours += [f"{source}:", f"  br label %{self._labels[target]}"]
                seen.setdefault(target, values)
                self._incoming.setdefault(target, []).append((source, values))
                texts.append(f"label %{self._labels[target] if source is label else source}")
            self._edges[terminator] = texts

    def _phis(self, block: Block) -> list[str]:
        """The phi instructions of a block, one for each argument."""
        edges = self._incoming.get(block)
        if edges is None:  # nothing leads here
            self._names.update({arg: "poison" for arg in block.args})
            return []
        return [self._phi(arg, index, edges) for index, arg in enumerate(block.args)]

    def _phi(self, arg: BlockArgument, index: int, edges: list[tuple[str, Sequence[SSAValue]]]) -> str:
        """A phi instruction with the values of one argument by predecessor."""
        sources = ", ".join(f"[ {self.name(values[index])}, %{label} ]" for label, values in edges)
        return f"  {self.name(arg)} = phi {self.types(arg.type)} {sources}"

    def loop_suffix(self, op: Operation) -> str:
        """The metadata of a branch back to a loop's head: hints for LLVM's loop passes."""
        if not op.attributes or not isinstance(hints := op.attributes.get(LOOP_ATTRIBUTE), ArrayAttr):
            return ""
        words = [hint.data for hint in cast("ArrayAttr[Attribute]", hints) if isinstance(hint, StringAttr)]
        nodes = [self.module.metadata(f'!{{!"{word}"}}') for word in words]
        members = ", ".join(["!self", *nodes])
        return f", !llvm.loop {self.module.metadata(f'distinct !{{{members}}}')}"


_CONSTANTS = frozenset((llvm.ConstantOp, ZeroOp, llvm.ZeroOp, llvm.UndefOp, PoisonOp, llvm.AddressOfOp))
Emit: TypeAlias = Callable[[FunctionEmitter, Operation], str]


def branch_edges(terminator: Operation) -> list[Edge]:
    """The successor blocks of a terminator, with the values for their arguments."""
    match terminator:
        case llvm.BrOp():
            return [(terminator.successor, terminator.arguments)]
        case llvm.CondBrOp():
            return [
                (terminator.then_block, terminator.then_arguments),
                (terminator.else_block, terminator.else_arguments),
            ]
        case SwitchOp():
            cases = zip(terminator.case_blocks, terminator.arguments_by_case(), strict=True)
            return [(terminator.default_block, terminator.default_arguments), *cases]
        case _:
            return []


def _refuse(_: FunctionEmitter, op: Operation) -> str:
    """Raise `unsupported-op` for an op without a counterpart in LLVM IR."""
    raise StepwellError(
        "unsupported-op",
        op,
        f"{op.name} has no LLVM IR",
        help="convert-loops-to-llvm lowers everything else to the llvm dialect",
    )
