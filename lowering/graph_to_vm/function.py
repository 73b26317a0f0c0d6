"""Functions of level 1 as blocks of instructions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import adt, graph, ref
from stepwell.dialects.adt.prelude import prelude_functions
from stepwell.dialects.constants import Constant
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.vm.instructions import number, registers
from stepwell.lowering.graph_to_vm.code import Code, Constants, symbol
from stepwell.lowering.graph_to_vm.matches import bound_registers, cases_by_tag
from stepwell.runtime.errors import StepwellError, did_you_mean

After: TypeAlias = Callable[[Sequence[int]], None]
"""Appends the instructions after a region, given the registers of the values that it yields."""


class FunctionCode:
    """
    The code of a function; `registers` is the number that it uses.

    Each SSA value has a register of its own. A region in tail position, whose results are the function's,
    ends in the return or tail call itself.
    """

    def __init__(
        self, function: FuncOp, segments: Container[str], functions: Collection[str], constants: Constants
    ):
        """Args: `segments` and `functions` are the names of those with a body."""
        self._function, self._segments, self._constants = function, segments, constants
        self._functions = functions
        self._code = Code(function.location)
        self._registers: dict[SSAValue, int] = {}
        self._rows: dict[SSAValue, int] = {}
        """Constants, which are loaded where they are used: on each path once."""

    @property
    def registers(self) -> int:
        """The number of registers."""
        return self._code.registers

    def blocks(self) -> list[Block]:
        """The blocks. Raises: StepwellError `unsupported-op`."""
        for argument in self._function.args:
            self._registers[argument] = self._code.new_register()
        self._block(self._function.body.block, None)
        return self._code.blocks

    # Blocks, and what follows them.

    def _block(self, block: Block, after: After | None) -> None:
        """A block's ops, then what follows it; None where the function returns its values."""
        last = block.last_op
        assert last is not None
        ops = [op for op in block.ops if op is not last]
        tail = ops[-1] if ops and after is None and _is_returned(ops[-1], last) else None
        for op in ops:
            self._code.at(op)
            if op is tail and self._tail(op):
                return
            self._op(op)
        self._code.at(last)
        values = [self._use(value) for value in last.operands]
        if after is not None:
            after(values)
        else:
            self._return(values)

    def _return(self, values: Sequence[int]) -> None:
        value = values[0] if len(values) == 1 else self._code.tuple_of(values)
        self._code.emit("ret", value=number(value))

    def _tail(self, op: Operation) -> bool:
        """An op at the end of a function, which returns its results."""
        match op:
            case graph.CallOp() if op.callee is None or op.callee.string_value() not in self._segments:
                self._tail_call(op)
            case graph.IfOp():
                self._if(op, None)
            case adt.MatchOp():
                self._match(op, None)
            case _:
                return False
        return True

    # Ops.

    def _op(self, op: Operation) -> None:
        match op:
            case graph.ConstantOp():
                self._rows[op.result] = self._constants.row(cast(Constant, op.value))
            case graph.CallOp():
                self._call(op)
            case CallOp():
                self._call(self._as_graph_call(op))
            case graph.ClosureOp():
                self._expect_function(op)
                self._make_closure(op.result, op.callee.string_value(), op.captured)
            case graph.FunctionOp() if not op.callee.nested_references.data:
                self._expect_function(op)
                self._make_closure(op.result, op.callee.string_value(), ())
            case graph.TupleOp():
                self._set(op.results[0], self._code.tuple_of(self._uses(op.operands)))
            case graph.GetOp():
                self._set(op.result, self._code.field(self._use(op.input), op.index.value.data))
            case adt.MakeOp():
                self._make(op)
            case graph.IfOp():
                self._if(op, self._join(op))
            case adt.MatchOp():
                self._match(op, self._join(op))
            case graph.WhileOp():
                self._while(op)
            case ref.NewOp() | ref.ReadOp() | ref.WriteOp():
                self._cell(op)
            case _:
                message = f"{op.name} cannot be an instruction"
                help = "run monomorphize, eta-expand, lambda-lift, outline-dataflow before"
                if "skip_optimization" in self._function.attributes:
                    help = f"remove `skip_optimization` from @{self._function.sym_name.data}"
                raise StepwellError("unsupported-op", op, message, help=help)

    def _as_graph_call(self, op: CallOp) -> graph.CallOp:
        """A `func.call` as a `graph.call` in its place."""
        made = graph.CallOp(op.callee.string_value(), op.arguments, op.result_types)
        adopt_location(made, op.location)
        Rewriter.replace_op(op, made)
        return made

    def _expect_function(self, op: graph.CallOp | graph.ClosureOp | graph.FunctionOp) -> None:
        """Require a named function to have a body. Raises: StepwellError `unknown-function`."""
        if op.callee is None or (name := op.callee.string_value()) in self._functions:
            return
        help = f"{did_you_mean(name, [*self._functions, *prelude_functions()])}define @{name} in the module"
        raise StepwellError("unknown-function", op, f"@{name} is called and has no body", help=help)

    def _call(self, op: graph.CallOp) -> None:
        arguments = registers(self._uses(op.arguments))
        if op.callee is not None and op.callee.string_value() in self._segments:
            outputs = registers([self._new(result) for result in op.results])
            callee = symbol(op.callee.string_value())
            self._code.emit("invoke_packed", callee=callee, arguments=arguments, outputs=outputs)
            return
        self._expect_function(op)
        single = len(op.results) == 1
        to = self._new(op.results[0]) if single else self._code.new_register()
        if op.callee is not None:
            callee = symbol(op.callee.string_value())
            self._code.emit("invoke", to=number(to), callee=callee, arguments=arguments)
        else:
            closure = number(self._use(cast(SSAValue, op.function)))
            self._code.emit("invoke_closure", to=number(to), closure=closure, arguments=arguments)
        if not single:
            for index, result in enumerate(op.results):
                self._set(result, self._code.field(to, index))

    def _tail_call(self, op: graph.CallOp) -> None:
        self._expect_function(op)
        arguments = registers(self._uses(op.arguments))
        if op.callee is not None:
            callee = symbol(op.callee.string_value())
            self._code.emit("tail_invoke", callee=callee, arguments=arguments)
        else:
            closure = number(self._use(cast(SSAValue, op.function)))
            self._code.emit("tail_invoke_closure", closure=closure, arguments=arguments)

    def _make_closure(self, result: SSAValue, name: str, captured: Sequence[SSAValue]) -> None:
        captures = registers(self._uses(captured))
        to = number(self._new(result))
        self._code.emit("alloc_closure", to=to, callee=symbol(name), captures=captures)

    def _make(self, op: adt.MakeOp) -> None:
        fields = registers(self._uses(op.inputs))
        to = number(self._new(op.result))
        self._code.emit("alloc_adt", to=to, constructor=op.constructor, fields=fields)

    def _cell(self, op: ref.NewOp | ref.ReadOp | ref.WriteOp) -> None:
        match op:
            case ref.NewOp():
                value = number(self._use(op.value))
                self._code.emit("new_ref", to=number(self._new(op.result)), value=value)
            case ref.ReadOp():
                cell = number(self._use(op.cell))
                self._code.emit("read_ref", to=number(self._new(op.result)), cell=cell)
            case ref.WriteOp():
                cell, value = number(self._use(op.cell)), number(self._use(op.value))
                self._code.emit("write_ref", cell=cell, value=value)

    # Branches.

    def _join(self, op: Operation) -> tuple[Block, list[int]]:
        """The block after an op with regions, and the registers of its results."""
        return Block(), [self._new(result) for result in op.results]

    def _region(self, region: Region, join: tuple[Block, list[int]] | None) -> None:
        """A region, then a jump to the join; the constants that it loads are its own."""
        outer = dict(self._registers)
        if join is None:
            self._block(region.block, None)
        else:
            self._block(region.block, lambda values: self._go_to(join, values))
        self._registers = outer

    def _go_to(self, join: tuple[Block, list[int]], values: Sequence[int]) -> None:
        for to, value in zip(join[1], values, strict=True):
            self._code.move(to, value)
        self._code.emit("goto", join[0])

    def _if(self, op: graph.IfOp, join: tuple[Block, list[int]] | None) -> None:
        if op.names:
            raise StepwellError(
                "unsupported", op, "a branch with calls cannot define the sizes of its results"
            )
        then, otherwise = Block(), Block()
        self._code.emit("if", then, otherwise, condition=number(self._use(op.condition)))
        for block, region in ((then, op.then_region), (otherwise, op.else_region)):
            self._code.open(block)
            self._region(region, join)
        if join is not None:
            self._code.open(join[0])

    def _match(self, op: adt.MatchOp, join: tuple[Block, list[int]] | None) -> None:
        """A switch on the tag, or nothing for a single case."""
        value, cases = self._use(op.value), cases_by_tag(op)
        starts = {case: Block() for case in dict.fromkeys(cases)}
        if len(starts) > 1:
            tag = self._code.new_register()
            self._code.emit("get_tag", to=number(tag), value=number(value))
            self._code.emit("switch", *(starts[case] for case in cases), tag=number(tag))
        for case, start in starts.items():
            if len(starts) > 1:
                self._code.open(start)
            if isinstance(case, str):
                self._fail(op, case)
                continue
            bound = bound_registers(self._code, op.patterns.data[case], value)
            self._case(op.cases[case], bound, join)
        if join is not None:
            self._code.open(join[0])

    def _case(self, case: Region, bound: Sequence[int], join: tuple[Block, list[int]] | None) -> None:
        self._registers |= dict(zip(case.block.args, bound, strict=True))
        self._region(case, join)

    def _fail(self, op: adt.MatchOp, missing: str) -> None:
        around = op.parent_op()
        if isinstance(around, adt.MatchOp) and around.location == op.location:  # of one nested pattern
            missing = f"a value with {missing} inside"
        self._code.at(op)
        self._code.fail("no-case", f"no case of this match fits {missing}")

    def _while(self, op: graph.WhileOp) -> None:
        if op.names or op.carried_names:
            raise StepwellError("unsupported", op, "a loop with calls cannot carry values of changing sizes")
        test, body = Block(), Block()
        after = Block()
        carried = [self._code.new_register() for _ in op.inits]
        for to, value in zip(carried, op.inits, strict=True):
            self._code.move(to, self._use(value))
        self._code.emit("goto", test)
        self._code.open(test)
        outer = dict(self._registers)
        self._registers |= dict(zip(op.test.block.args, carried, strict=True))
        self._block(
            op.test.block, lambda values: self._code.emit("if", body, after, condition=number(values[0]))
        )
        self._registers = dict(outer)
        self._code.open(body)
        self._registers |= dict(zip(op.body.block.args, carried, strict=True))
        self._block(op.body.block, lambda values: self._next(carried, values, test))
        self._registers = outer | dict(zip(op.results, carried, strict=True))
        self._code.open(after)

    def _next(self, carried: Sequence[int], values: Sequence[int], test: Block) -> None:
        """The carried values of the next iteration; one that is another's old value is copied first."""
        copies: list[int] = []
        for value in values:
            copies.append(value if value not in carried else self._code.new_register())
            self._code.move(copies[-1], value)
        for to, value in zip(carried, copies, strict=True):
            self._code.move(to, value)
        self._code.emit("goto", test)

    # Registers.

    def _new(self, value: SSAValue) -> int:
        register = self._code.new_register()
        self._registers[value] = register
        return register

    def _set(self, value: SSAValue, register: int) -> None:
        self._registers[value] = register

    def _use(self, value: SSAValue) -> int:
        """The register of a value; a constant is loaded into one."""
        if (register := self._registers.get(value)) is not None:
            return register
        register = self._registers[value] = self._code.load(self._rows[value])
        return register

    def _uses(self, values: Sequence[SSAValue]) -> list[int]:
        return [self._use(value) for value in values]


def _is_returned(op: Operation, last: Operation) -> bool:
    """Whether the results of an op are, in order, what the block ends with."""
    return len(op.results) > 0 and list(last.operands) == list(op.results)
