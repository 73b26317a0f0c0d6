"""`assign-tokens`: what an instruction waits for becomes tokens between neighbouring stages."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.dialects import npu
from stepwell.dialects.npu.tokens import InstructionOp, TokensAttr
from stepwell.lowering.backends.npu.program_pass import ProgramPass
from stepwell.runtime.npu.instructions import Stage, Tokens


@dataclass(frozen=True)
class AssignTokensPass(ProgramPass):
    """
    Give each instruction of each `npu.program` the tokens that it takes and gives.

    ```mlir
    %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 : memref<1x1x16xi8>
    %z = npu.gemm reset uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0] after(%a)
    // ->
    %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 tokens [push-next] : memref<1x1x16xi8>
    %z = npu.gemm reset uops [(0, 0, 0)] … after(%a) tokens [pop-prev]
    ```
    A stage executes its instructions in order, and a queue returns tokens in the order in which they were put
    into it. So an instruction waits for the last of those that it names alone, and for none if an instruction
    before it in its stage has waited for that one or a later one. Class: exact.
    """

    name = "assign-tokens"

    def apply_to_program(self, program: npu.ProgramOp) -> None:
        assign_tokens(program)


def assign_tokens(program: npu.ProgramOp) -> None:
    """Give each instruction of a program its tokens, in place of earlier ones."""
    ops = program.instructions
    numbers = {op.token: number for number, op in enumerate(ops)}
    waited = {(source, to): -1 for source in Stage for to in Stage}
    flags: list[dict[str, bool]] = [{} for _ in ops]
    for number, op in enumerate(ops):
        latest: dict[Stage, int] = {}
        for value in op.after:
            source = value.owner
            if isinstance(source, InstructionOp) and source.stage != op.stage:
                latest[source.stage] = max(latest.get(source.stage, -1), numbers[source.token])
        for stage, last in latest.items():
            if last <= waited[stage, op.stage]:
                continue
            waited[stage, op.stage] = last
            is_before = stage < op.stage
            flags[number]["pop_prev" if is_before else "pop_next"] = True
            flags[last]["push_next" if is_before else "push_prev"] = True
    for op, given in zip(ops, flags, strict=True):
        op.tokens = TokensAttr.of(Tokens(**given))
