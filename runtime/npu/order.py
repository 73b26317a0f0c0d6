"""The order of instructions: three queues, and tokens between neighbours, which may never come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeAlias

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.npu.instructions import Instruction, Stage

Edge: TypeAlias = tuple[Stage, Stage]
EDGES: Sequence[Edge] = (
    (Stage.LOAD, Stage.COMPUTE),
    (Stage.COMPUTE, Stage.LOAD),
    (Stage.COMPUTE, Stage.STORE),
    (Stage.STORE, Stage.COMPUTE),
)
"""The queues of tokens: from a stage to its neighbour."""


def waits_for(instruction: Instruction) -> list[Edge]:
    """The queues that an instruction takes a token from. Raises: StepwellError where there is none."""
    stage, tokens = instruction.stage, instruction.tokens
    wanted = [(stage - 1, stage)] * tokens.pop_prev + [(stage + 1, stage)] * tokens.pop_next
    return [_edge(each, instruction) for each in wanted]


def gives(instruction: Instruction) -> list[Edge]:
    """The queues that an instruction puts a token into. Raises: StepwellError where there is none."""
    stage, tokens = instruction.stage, instruction.tokens
    wanted = [(stage, stage - 1)] * tokens.push_prev + [(stage, stage + 1)] * tokens.push_next
    return [_edge(each, instruction) for each in wanted]


def _edge(pair: tuple[int, int], instruction: Instruction) -> Edge:
    found = next((edge for edge in EDGES if edge == pair), None)
    if found is None:
        what = type(instruction).__name__.lower()
        raise StepwellError("bad-npu-program", None, f"{what} has no stage on that side for its token")
    return found


def orders(instructions: Sequence[Instruction], seed: int | None = None) -> Iterator[int]:
    """
    The numbers of instructions in an order in which the accelerator may execute them.

    Args: `seed` chooses among the stages that can go on, by chance; without one, the earliest instruction.
    Raises: StepwellError `bad-npu-program` where all stages wait for tokens, naming the instructions.
    """
    pick = None if seed is None else Random(seed)
    queues: dict[Stage, list[int]] = {stage: [] for stage in Stage}
    for number, instruction in enumerate(instructions):
        queues[Stage(instruction.stage)].append(number)
    heads = dict.fromkeys(Stage, 0)
    tokens = dict.fromkeys(EDGES, 0)
    left = len(instructions)
    while left:
        ready = [
            queue[heads[stage]]
            for stage, queue in queues.items()
            if heads[stage] < len(queue)
            and all(tokens[edge] for edge in waits_for(instructions[queue[heads[stage]]]))
        ]
        if not ready:
            raise _stuck(instructions, queues, heads)
        number = min(ready) if pick is None else pick.choice(ready)
        yield number
        instruction = instructions[number]
        for edge in waits_for(instruction):
            tokens[edge] -= 1
        for edge in gives(instruction):
            tokens[edge] += 1
        heads[Stage(instruction.stage)] += 1
        left -= 1


def _stuck(
    instructions: Sequence[Instruction], queues: dict[Stage, list[int]], heads: dict[Stage, int]
) -> StepwellError:
    waiting = [queue[heads[stage]] for stage, queue in queues.items() if heads[stage] < len(queue)]
    notes = [
        f"instruction {number}, {type(instructions[number]).__name__.lower()}, waits for a token of "
        + " and ".join(edge[0].name.lower() for edge in waits_for(instructions[number]))
        for number in waiting
    ]
    message = "the program would never end: each stage waits for a token that no instruction gives; "
    return StepwellError("bad-npu-program", None, message + "; ".join(notes))


def expect_ending(instructions: Sequence[Instruction]) -> list[int]:
    """
    An order in which a program can run, which must end with no token left.

    One order is enough: the tokens that an instruction waits for do not depend on the order.
    Raises: StepwellError `bad-npu-program`.
    """
    order = list(orders(instructions))
    balance = dict.fromkeys(EDGES, 0)
    for instruction in instructions:
        for edge in gives(instruction):
            balance[edge] += 1
        for edge in waits_for(instruction):
            balance[edge] -= 1
    for (source, to), count in balance.items():
        if count:
            message = f"{count} tokens from {source.name.lower()} to {to.name.lower()} are never taken"
            raise StepwellError("bad-npu-program", None, message)
    return order
