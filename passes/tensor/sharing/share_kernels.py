"""`share-kernels`: one function for kernels of different extents of outer loops, passed as arguments."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects._xdsl import StepwellContext, target_of
from stepwell.dialects.costs.kernels import COMPILER
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.sched import TUNED, UNROLLED
from stepwell.dialects.sched_kernel import is_kernel, is_on_buffers, symbols_of
from stepwell.dialects.types import Tensor, element_bytes
from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.passes.base import Pass
from stepwell.passes.context import count, remark
from stepwell.passes.tensor.sharing.answers import Answer, answers
from stepwell.passes.tensor.sharing.families import Member, Opening, families_of, is_large
from stepwell.passes.tensor.sharing.opened import opened
from stepwell.runtime.machine.target import TargetDescription, target_from


@dataclass(frozen=True)
class ShareKernelsPass(Pass):
    """
    Make one function of three or more kernels that differ in extents of outer loops only.

    ```mlir
    %y = func.call @k3(%x, %w) : (tensor<1x4x56x56x16xf32>, tensor<8x4x1x1x16x16xf32>) -> …
    // ->
    %a = tensor.cast %x : tensor<1x4x56x56x16xf32> to tensor<1x?x56x56x16xf32>
    %b = tensor.cast %w : tensor<8x4x1x1x16x16xf32> to tensor<8x?x1x1x16x16xf32>
    %C = arith.constant 4 : index
    %y = func.call @k3_shared(%a, %b, %C) : (tensor<1x?x56x56x16xf32>, tensor<8x?x1x1x16x16xf32>, index) -> …

    func.func private @k3_shared(%0: …, %1: …, %C: index) -> …
        attributes {sched.kernel = #sched.kernel<inputs = 2, outputs = 1, symbols = ["C" in 4 to 14]>}
    ```
    First, extents of outer loops of sums become arguments, such as the blocks of a convolution's input
    channels. If this joins less than three kernels, extents of outer loops over results do as well. Kernels
    are joined if `choose-schedules` gives them the same schedule, which the function gets. A loop can have an
    open extent if the schedule steps through it by ones, or in whole tiles in each of the kernels: then no
    remainder loop runs, and each result is the same sum in the same order.

    A kernel is left alone if its sizes are open already, its schedules were tuned, it is called in branches
    or loops, or its results bypass the caches. Remarks list the joined kernels, and why others were not
    joined.
    Class: exact.
    """

    name = "share-kernels"

    mcpu: str = ""
    """The target, as `stepwell compile --mcpu` takes it; without it, the one of the compilation."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = functions_by_name(op)
        main = functions.get("main")
        if main is None or len(functions) <= COMPILER.least_shared:
            return
        target = target_from(self.mcpu) if self.mcpu else target_of(ctx)
        calls = _calls(main)
        kernels = [f for name, f in functions.items() if name in calls and _can_change(f, target)]
        if families := families_of(kernels):
            _Sharing(calls, target).share(families)


def _calls(main: FuncOp) -> dict[str, list[CallOp]]:
    """The calls of each function that `@main` calls outside of its branches and loops only."""
    found: dict[str, list[CallOp]] = {}
    for op in main.walk():
        if isinstance(op, CallOp):
            found.setdefault(op.callee.string_value(), []).append(op)
    block = main.body.block
    return {name: calls for name, calls in found.items() if all(call.parent is block for call in calls)}


def _can_change(function: FuncOp, target: TargetDescription) -> bool:
    """Whether a function is a plain kernel on tensors of known sizes, which fit the last-level cache."""
    is_scheduled = UNROLLED in function.attributes or TUNED in function.attributes
    is_done = function.is_declaration or is_on_buffers(function) or is_scheduled
    is_annotated = any(each.data for each in (*(function.arg_attrs or ()), *(function.res_attrs or ())))
    if not is_kernel(function) or is_done or is_annotated or symbols_of(function):
        return False
    signature = function.function_type
    tensors = [cast(Tensor, type) for type in (*signature.inputs, *signature.outputs)]
    total_bytes = sum(prod(t.get_shape()) * element_bytes(t.element_type) for t in tensors)
    return len(function.body.blocks) == 1 and total_bytes < target.l3_bytes  # `stream-stores` needs sizes


@dataclass
class _Sharing:
    """The calls that are rewritten, and the answers of `choose-schedules` for kernels."""

    calls: Mapping[str, Sequence[CallOp]]
    target: TargetDescription
    given: dict[Member, Answer] = field(default_factory=dict[Member, Answer])

    def share(self, families: Sequence[Sequence[Member]]) -> None:
        """Join what is alike in each family."""
        members = [member for family in families for member in family]
        self.given = dict(zip(members, self._answers([m.kernel for m in members]), strict=True))
        parts = [part for family in families for part in self._parts(family)]
        openings = [(part, Opening.of(part)) for part in parts]
        wanted = [opened(part[0].kernel, opening.dims, opening.bounds) for part, opening in openings]
        for (part, opening), shared in zip(openings, self._answers(wanted), strict=True):
            if (reason := self._refusal(shared, part)) is not None:
                remark(part[0].kernel, f"not shared: {_names(part)}: {reason}")
                continue
            shared.adopt(self.given[part[0]].schedules)
            bounds = ", ".join(f"{name} from {low} to {high}" for name, (low, high) in opening.bounds.items())
            remark(part[0].kernel, f"shared: {_names(part)}: one function, {bounds}")
            self._replace(part, opening, shared.kernel)
            count("functions")
            count("kernels in them", len(part))
        for answer in self.given.values():
            answer.erase()

    def _answers(self, kernels: Sequence[FuncOp]) -> list[Answer]:
        ctx = StepwellContext()
        ctx.target = self.target
        return answers(kernels, ctx)

    def _parts(self, family: Sequence[Member]) -> list[list[Member]]:
        """The members of a family by answer; those of too rare ones stay."""
        groups: dict[Hashable, list[Member]] = {}
        for member in family:
            groups.setdefault(self.given[member].key, []).append(member)
        for group in groups.values():
            if not is_large(group):
                reason = f"fewer than {COMPILER.least_shared} of {len(family)} have this schedule"
                remark(group[0].kernel, f"not shared: {_names(group)}: {reason}")
        return [group for group in groups.values() if is_large(group)]

    def _refusal(self, shared: Answer, part: Sequence[Member]) -> str | None:
        """The reason why a function with open extents cannot replace kernels; None if it can."""
        if shared.loops != self.given[part[0]].loops:
            return "with open extents they have other loops"
        for view, loop, step in shared.open_tiles(self.given[part[0]].schedules):
            if not all(self.given[member].is_whole(view, loop, step) for member in part):
                return "their schedule needs an extent that differs"
        return None

    def _replace(self, part: Sequence[Member], opening: Opening, shared: FuncOp) -> None:
        """Put a function in place of kernels, named after the first one."""
        first = part[0].kernel
        shared.detach()
        shared.properties["sym_name"] = StringAttr(f"{first.sym_name.data}_shared")
        Rewriter.insert_op(shared, InsertPoint.before(first))
        for number, member in enumerate(part):
            values = [values[number] for values in opening.values.values()]
            for call in self.calls[member.kernel.sym_name.data]:
                _call(call, shared, values)
            member.kernel.detach()
            member.kernel.erase()


def _names(members: Sequence[Member]) -> str:
    """The kernels by name, the first three of many."""
    names = [f"@{member.kernel.sym_name.data}" for member in members]
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:3])} and {len(names) - 3} others"


def _call(call: CallOp, shared: FuncOp, values: Sequence[int]) -> None:
    """Replace a call by one of a function with open extents, whose values are constants."""
    emit, types = IRBuilder.before(call), shared.function_type
    given = [_cast(emit, value, type) for value, type in zip(call.arguments, types.inputs, strict=False)]
    made = CallOp.create(
        operands=[*given, *map(emit.materialize, values)],
        result_types=list(types.outputs),
        properties={"callee": SymbolRefAttr(shared.sym_name)},
        attributes=call.attributes,
    )
    emit.insert(made)
    for old, new in zip(call.results, made.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(_cast(emit, new, old.type))
    call.detach()
    call.erase()


def _cast(emit: IRBuilder, value: SSAValue, type: Attribute) -> SSAValue:
    """A tensor in a type with other known extents."""
    return (
        value if value.type == type else emit.value(tensor.CastOp(value, cast("TensorType[Attribute]", type)))
    )
