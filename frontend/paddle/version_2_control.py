"""Blocks of a program of version 2: variables that blocks write, loops, and choices between two blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol, cast

from xdsl.ir import Region

from stepwell.dialects import paddle
from stepwell.frontend.foreign_function import ForeignFunction
from stepwell.frontend.paddle.schema import Block, Operator, type_of
from stepwell.frontend.protobuf import Message

_CONTROL = ("while", "conditional_block")
"""The operators that run a block."""


class Program(Protocol):
    """The builder of a program's function."""

    function: ForeignFunction

    def add_input(self, name: str, variable: Message) -> None:
        """Add an argument."""
        ...

    def add(self, op: Operator) -> None:
        """Add an operator that is no control flow."""
        ...


class Control:
    """Adds the operators of blocks."""

    def __init__(self, program: Program, blocks: Sequence[Block]):
        """Raises: ValueError for a block that several operators run."""
        self._program, self._blocks = program, blocks
        operators = (op for block in blocks for op in block.operators if op.type in _CONTROL)
        runs = Counter(map(_block_of, operators))
        if twice := [number for number, count in runs.items() if count > 1 or number == 0]:
            raise ValueError(f"several operators run block {twice[0]}")
        self._path: list[int] = []
        """The blocks around, the innermost one last."""

    def variable(self, name: str) -> Message:
        """The record of a variable. Raises: LookupError for a name that no block around has."""
        for number in reversed(self._path):
            if (found := self._blocks[number].variables.get(name)) is not None:
                return found
        raise LookupError(f"no variable {name!r}")

    def _block(self, number: int) -> Block:
        """A block by its number. Raises: ValueError."""
        if not 0 <= number < len(self._blocks):
            raise ValueError(f"block {number} does not exist")
        return self._blocks[number]

    def add_inputs(self, number: int) -> None:
        """Add the arguments that a block is fed with, in their order."""
        block = self._block(number)
        fed = [op for op in block.operators if op.type == "feed"]
        for op in sorted(fed, key=lambda op: cast(int, op.attributes["col"])):
            (name,) = op.outputs["Out"]
            self._program.add_input(name, block.variables[name])

    def add_block(self, number: int) -> None:
        """Add the operators of a block."""
        self._path.append(number)
        operators = self._block(number).operators
        done = set[int]()
        for position, op in enumerate(operators):
            if position in done or op.type == "feed":
                continue
            if op.type == "while":
                self._add_loop(op)
            elif op.type == "conditional_block":
                self._add_choice(op, operators, position, done)
            else:
                self._program.add(op)
        self._path.pop()

    def _add_loop(self, op: Operator) -> None:
        """A loop over the condition and the outer variables that the body writes."""
        function, condition, number = self._program.function, op.input("Condition"), _block_of(op)
        written = self._written(number)
        if condition not in written:
            raise ValueError("a loop does not write its condition")
        names = [condition, *(name for name in written if name != condition and name in function.values)]
        inits = [function.value(name, condition) for name in names]
        arguments = [(name, value.type) for name, value in zip(names, inits, strict=True)]
        with function.inside(arguments) as test:
            test.add_op(paddle.ReturnOp([function.value(condition, condition)]))
        with function.inside(arguments) as body:
            self.add_block(number)
            body.add_op(paddle.ReturnOp([function.value(name, condition) for name in names]))
        types = [type_of(self.variable(name)) for name in names]
        function.add_op(paddle.WhileOp(inits, types, [Region(test), Region(body)]), condition, names)

    def _add_choice(self, op: Operator, operators: Sequence[Operator], at: int, done: set[int]) -> None:
        """
        Add a block that runs if a condition holds; with the block of the opposite condition, a choice between
        them.

        Paddle writes a choice as two such blocks, and as `select_input` for each result.
        """
        condition, position = op.input("Cond"), _opposite(op, operators, at)
        other = None if position is None else operators[position]
        values = self._program.function.value(condition, condition)
        written = [name for each in (op, other) if each for name in self._written(_block_of(each))]
        kept = [name for name in dict.fromkeys(written) if name in self._program.function.values]
        results, first, second = list(kept), list(kept), list(kept)
        if other is not None and position is not None:
            done.add(position)
            for place, each in _selections(op, other, operators, at):
                done.add(place)
                results += each.outputs["Out"]
                second.append(each.inputs["X"][0])
                first.append(each.inputs["X"][1])
        regions = [self._region(op, first, condition), self._region(other, second, condition)]
        types = [type_of(self.variable(name)) for name in results]
        self._program.function.add_op(paddle.IfOp([values], types, regions), condition, results)

    def _region(self, op: Operator | None, names: Sequence[str], node: str) -> Region:
        """The region of a block, which gives some variables; without a block these are as before."""
        function = self._program.function
        with function.inside() as made:
            if op is not None:
                self.add_block(_block_of(op))
            made.add_op(paddle.ReturnOp([function.value(name, node) for name in names]))
        return Region(made)

    def _written(self, number: int) -> list[str]:
        """The outer variables that a block writes, with the blocks inside."""
        found: dict[str, None] = {}
        for op in self._block(number).operators:
            found |= dict.fromkeys(name for names in op.outputs.values() for name in names)
            if op.type in _CONTROL:
                found |= dict.fromkeys(self._written(_block_of(op)))
        own = self._block(number).variables
        return [name for name in found if name not in own]


def _block_of(op: Operator) -> int:
    """The number of the block that an operator runs."""
    return cast(int, op.attributes["sub_block"])


def _opposite(op: Operator, operators: Sequence[Operator], at: int) -> int | None:
    """The position of the block with the opposite condition; None without such a block."""
    negated = set[str]()
    for position, each in enumerate(operators[at + 1 :], at + 1):
        if each.type == "logical_not" and each.input("X") == op.input("Cond"):
            negated.update(each.outputs["Out"])
        if each.type == "conditional_block" and each.input("Cond") in negated:
            return position
    return None


def _selections(
    op: Operator, other: Operator, operators: Sequence[Operator], at: int
) -> Iterable[tuple[int, Operator]]:
    """The operators, with their positions, that select a result of one of two blocks."""
    for position, each in enumerate(operators[at + 1 :], at + 1):
        if each.type == "select_input" and len(each.inputs["X"]) == 2:
            second, first = each.inputs["X"]
            if first in op.outputs["Out"] and second in other.outputs["Out"]:
                yield position, each
