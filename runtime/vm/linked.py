"""
Functions as the machine runs them: straight runs of steps, each of which ends in a jump, call or return.

A program is linked once. `Hooks` see every instruction; without them there is no trace of them in the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, cast

from stepwell.runtime.vm.hot_runs import OFTEN, Block, HotRun
from stepwell.runtime.vm.instructions import targets_of
from stepwell.runtime.vm.objects import Registers, Step, Value, wrong_kind
from stepwell.runtime.vm.program import Code, Function, Program
from stepwell.runtime.vm.steps import STEPS, Tables, taker, truth

# The ends of runs, in the order of how often they occur.
CALL, RETURN, JUMP, GOTO, TAIL_CALL, CALL_CLOSURE, TAIL_CALL_CLOSURE = range(7)
_ENDS = {
    "invoke": CALL,
    "ret": RETURN,
    "if": JUMP,
    "switch": JUMP,
    "goto": GOTO,
    "tail_invoke": TAIL_CALL,
    "invoke_closure": CALL_CLOSURE,
    "tail_invoke_closure": TAIL_CALL_CLOSURE,
    "fatal": RETURN,
}


class Hooks(Protocol):
    """An observer of one call at a time, whose steps are put between the steps of a program."""

    def before(self, function: Function, pc: int) -> Step | None:
        """The step before an instruction."""
        ...

    def after(self, function: Function, pc: int) -> Step | None:
        """The step after an instruction, unless that is a jump."""
        ...

    def start(self, stack: Sequence[Frame]) -> None:
        """Begin of a call; the list of frames changes during the call."""
        ...

    def stop(self) -> None:
        """The call is over."""
        ...


class Run:
    """Instructions in a row, the last of which is not a step."""

    __slots__ = (
        "block",
        "callee",
        "choose",
        "closure",
        "end",
        "following",
        "function",
        "hot",
        "last_pc",
        "pcs",
        "register",
        "steps",
        "take",
        "walk",
    )

    callee: Linked
    """The function that is called, but for a function value."""
    closure: int
    """The register of a function value that is called."""
    choose: Callable[[Registers], Run]
    """The run of a jump that has a choice."""
    following: Run
    """The run after a call, or of a jump that has none."""

    def __init__(self, function: Function):
        self.function = function
        self.steps: tuple[Step, ...] = ()
        self.pcs: dict[Step, int] = {}
        """The number of each step's instruction."""
        self.block: Block[Run] | None = None
        """The instructions; None where a run is not to be part of a function."""
        self.hot: HotRun[Run] | None = None
        """The function that replaces the steps once they have run often."""
        self.walk: Callable[[Registers], Run] | None = None
        """This function: it returns the run whose end it has reached."""
        self.last_pc = 0
        """The number of the last instruction."""
        self.end = RETURN
        self.register = 0
        """What is returned, or where a call's result goes."""
        self.take: Callable[[Registers], Sequence[Value]] = taker([])
        """The arguments of a call."""

    def pc_of(self, step: object, error: BaseException) -> int:
        """The number of the instruction that raised an error, in the last step that was begun."""
        if self.hot is not None and step is self.hot.step:
            return self.hot.pc_of(error)
        return self.pcs.get(cast(Step, step), self.last_pc)


Frame = tuple[Registers, Run]
"""The registers of a function that waits for a call, and the run that ends in the call."""


class Linked:
    """A function that can be called."""

    __slots__ = ("entry", "function", "padding")

    def __init__(self, function: Function):
        self.function = function
        self.entry = Run(function)
        self.padding: tuple[None, ...] = (None,) * (function.registers - function.parameters)
        """The registers that are not parameters."""


def link(program: Program, tables: Tables, hooks: Sequence[Hooks] = ()) -> list[Linked]:
    """The functions of a verified program, in order."""
    functions = [Linked(function) for function in program.functions]
    for linked in functions:
        _Linker(linked, functions, tables, hooks).link()
    return functions


class _Linker:
    """The runs of one function."""

    def __init__(self, linked: Linked, functions: Sequence[Linked], tables: Tables, hooks: Sequence[Hooks]):
        self._function, self._entry = linked.function, linked.entry
        self._functions, self._tables, self._hooks = functions, tables, hooks
        code = linked.function.code
        starts = [0, *(pc + 1 for pc, each in enumerate(code[:-1]) if each.name in _ENDS)]
        self._runs = {start: Run(linked.function) for start in starts}
        self._runs[0] = linked.entry

    def link(self) -> None:
        """Fill the runs."""
        for start, run in self._runs.items():
            pc, steps = start, list[Step]()
            while (code := self._function.code[pc]).name not in _ENDS:
                steps.append(STEPS[code.name](self._tables, *code.operands))
                self._add(run, pc, steps[-1])
                pc += 1
            self._end(run, pc, code)
            if code.name != "fatal" and not self._hooks:
                rows = list(zip(range(start, pc), self._function.code[start:pc], strict=True))
                targets = [self._runs[target] for target in targets_of(*code)]
                run.block = Block(rows, steps, code, pc, targets)
                if run.steps:
                    _heat(run, partial(HotRun, run, _block_of, _going_on, self._tables))

    def _add(self, run: Run, pc: int, *steps: Step) -> None:
        before = [hook.before(self._function, pc) for hook in self._hooks]
        after = [hook.after(self._function, pc) for hook in self._hooks] if steps else []
        added = [step for step in (*before, *steps, *after) if step is not None]
        run.steps += tuple(added)
        run.pcs |= dict.fromkeys(added, pc)

    def _end(self, run: Run, pc: int, code: Code) -> None:
        run.last_pc, run.end = pc, _ENDS[code.name]
        run.following = self._runs.get(pc + 1, run)
        if code.name == "fatal":
            self._add(run, pc, STEPS["fatal"](self._tables, *code.operands))
            return
        self._add(run, pc)
        operands, targets = code.operands, [self._runs[target] for target in targets_of(*code)]
        match code.name:
            case "ret":
                run.register = cast(int, operands[0])
            case "goto":
                run.following = targets[0]
            case "if":
                run.choose = _condition(cast(int, operands[0]), targets)
            case "switch":
                run.choose = _switch(cast(int, operands[0]), targets)
            case _:
                run.take = taker(cast("Sequence[int]", operands[-1]))
                run.register, run.closure = cast(int, operands[0]), cast(int, operands[-2])
                if run.end in (CALL, TAIL_CALL):
                    run.callee = self._functions[run.closure]


def _block_of(run: Run) -> Block[Run] | None:
    return run.block


def _going_on(run: Run) -> Run:
    """A run without instructions that goes on at another."""
    made = Run(run.function)
    made.end, made.following = GOTO, run
    return made


def _heat(run: Run, made: Callable[[], HotRun[Run]]) -> None:
    """Let a run become a function when it has run often."""
    left = OFTEN

    def count(r: Registers) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            run.hot = made()
            run.walk = run.hot.step

    run.steps = (count, *run.steps)


def _condition(register: int, targets: Sequence[Run]) -> Callable[[Registers], Run]:
    then, otherwise = targets
    return lambda r: then if truth(r[register], is_last=True) else otherwise


def _switch(register: int, targets: Sequence[Run]) -> Callable[[Registers], Run]:
    count = len(targets)

    def choose(r: Registers) -> Run:
        tag = r[register]
        if tag.__class__ is not int or not 0 <= tag < count:
            raise wrong_kind(f"a tag below {count}", tag, is_last=True)
        return targets[cast(int, tag)]

    return choose
