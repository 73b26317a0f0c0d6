"""
The interpreter's engine: regions become lists of steps over numbered slots, run with numpy values.

Each op is prepared once, so that a loop's body costs a function call an op and iteration. A body runs on
single elements and, the same way, on whole grids of them: operators of numpy and Python do both.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from stepwell.dialects._xdsl import plugged_in_dialects
from stepwell.dialects.type_variables import VarType
from stepwell.lowering.main_to_buffers import error_row
from stepwell.runtime.errors import InternalError, StepwellError, describe_location
from stepwell.runtime.meaning.indexing import OutOfRange

Value: TypeAlias = Any
"""An array for a tensor, a vector or a buffer; a numpy scalar for a number; an int for an index."""
Step: TypeAlias = Callable[..., Any]
"""Maps the operands' values to the result, or to a tuple when there are several results or none."""
Unary: TypeAlias = Callable[[Value], Value]
"""A step on one operand."""
Binary: TypeAlias = Callable[[Value, Value], Value]
"""A step on two operands."""
InFrame: TypeAlias = Callable[["Frame"], Value]
"""A step of an op without operands, which sees the frame."""

StepWatcher: TypeAlias = Callable[[Operation, Sequence[Value], Value], None]
"""Called after each step with the op, the operands' values and the result."""
STEP_WATCHER: ContextVar[StepWatcher | None] = ContextVar("stepwell_step_watcher", default=None)
"""The watcher of steps that are prepared now; without one, a step costs nothing more."""

MAX_DEPTH = 1_000_000
"""The greatest depth of nested calls, which stops endless recursion."""


class Call(NamedTuple):
    """A call that a body waits for: the op of the call, and the body of the callee."""

    op: Operation
    body: Running


Running: TypeAlias = Generator[Call, Any, Any]
"""A running body or step: it yields calls, is sent their results, and returns its own results."""


@dataclass
class Scope:
    """The sizes and tile registers of a call; a called function shares them, or has its own."""

    symbols: dict[str, int]
    """The sizes of symbolic dimensions."""
    tiles: list[npt.NDArray[np.int32]] = field(default_factory=list[npt.NDArray[np.int32]])
    """The tile registers of the last `amx.configure`."""


@dataclass
class Frame:
    """The values of one call of a function."""

    slots: list[Value]
    scope: Scope
    grid: Sequence[Value] = ()
    """Inside a structured op: the index along each of its loops."""
    mask: Value | None = None
    """Inside a branch that is run on a grid: the elements of the grid for which it is selected."""


class _Prepared(NamedTuple):
    """An op with its step, a function from the frame to the operands, and slots."""

    step: Step
    read: Callable[[list[Value]], Sequence[Value]]
    result: int | None
    """The slot of the only result."""
    results: tuple[int, ...]
    dead: tuple[int, ...]
    """The slots of tensors that no later op of the block reads."""
    in_frame: bool
    waits: bool
    """Whether the step is a generator, as it may wait for calls."""
    op: Operation


def _conversion_of(op: Operation) -> str | None:
    """The help for an op of a dialect that a pass converts to level 1, where the interpreter begins."""
    from stepwell.dialects.foreign.model_dialect import MODEL_DIALECTS

    dialect = op.name.partition(".")[0]
    if dialect in MODEL_DIALECTS:
        return f"run convert-{dialect}-to-graph first"
    return "run convert-plugins-to-graph first" if dialect in plugged_in_dialects() else None


def packed(values: Sequence[Value]) -> Value:
    """Values as a step returns them: one alone, or a tuple."""
    return values[0] if len(values) == 1 else tuple(values)


def _reader(slots: Sequence[int]) -> Callable[[list[Value]], Sequence[Value]]:
    """A function from a frame to the values of some slots, in C, as most of the time is spent here."""
    if len(slots) > 1:
        return itemgetter(*slots)
    return itemgetter(slice(slots[0], slots[0] + 1) if slots else slice(0))


class Steps:
    """The steps of one block."""

    def __init__(self, steps: Sequence[_Prepared], args: Sequence[int], ends_with: Sequence[int]):
        self._steps = steps
        self._args = args
        self._ends_with = ends_with
        self.waits = any(step.waits for step in steps)
        """Whether the block may wait for calls."""

    def start(self, frame: Frame, args: Sequence[Value]) -> Running:
        """
        Run the block, as a generator of the calls to wait for.

        Args and result: as of `run`.
        """
        if not self.waits:
            return self.run(frame, args)
        slots = frame.slots
        for slot, value in zip(self._args, args, strict=True):
            slots[slot] = value
        for prepared in self._steps:
            step, read, *_ = prepared
            try:
                outcome: Any = step(frame, *read(slots)) if prepared.in_frame else step(*read(slots))
                if prepared.waits:
                    outcome = yield from cast(Running, outcome)
            except (ArithmeticError, IndexError, TypeError, ValueError) as error:
                raise _failure(prepared.op, error) from error
            if prepared.result is not None:
                slots[prepared.result] = outcome
            else:
                for slot, value in zip(prepared.results, outcome or (), strict=True):
                    slots[slot] = value
            for slot in prepared.dead:
                slots[slot] = None
        return [slots[i] for i in self._ends_with]

    def run(self, frame: Frame, args: Sequence[Value]) -> list[Value]:
        """
        Run the block.

        Args: `args` are the values of its arguments.
        Returns: the operands of its terminator.
        Raises: StepwellError `run-time` or `index-out-of-range`, naming the op that failed.
        """
        if self.waits:
            return drive(self.start(frame, args))
        slots = frame.slots
        for slot, value in zip(self._args, args, strict=True):
            slots[slot] = value
        for step, read, result, results, dead, in_frame, _, op in self._steps:
            try:
                outcome = step(frame, *read(slots)) if in_frame else step(*read(slots))
            except (ArithmeticError, IndexError, TypeError, ValueError) as error:
                raise _failure(op, error) from error
            if result is not None:
                slots[result] = outcome
            else:
                for slot, value in zip(results, outcome or (), strict=True):
                    slots[slot] = value
            for slot in dead:
                slots[slot] = None
        return [slots[i] for i in self._ends_with]


def drive(body: Running, at: Operation | None = None, max_depth: int = MAX_DEPTH) -> Any:
    """
    Run a body with the calls that it waits for, whose frames are on the heap: recursion may be deep.

    Returns: what the body returns.
    Raises: StepwellError `too-deep` past `max_depth` calls; errors of the bodies, with the calls around them.
    """
    stack = [Call(cast(Operation, at), body)]
    value: Any = None
    try:
        while True:
            try:
                call = stack[-1].body.send(value)
            except StopIteration as stop:
                value = stop.value
                stack.pop()
                if not stack:
                    return value
            else:
                if len(stack) > max_depth:
                    raise StepwellError("too-deep", call.op, f"calls nest more than {max_depth:,} deep")
                stack.append(call)
                value = None
    except StepwellError as error:
        raise _with_calls(error, [call.op for call in stack[1:]]) from error.__cause__


MOST_SHOWN_CALLS = 5
"""The innermost and outermost calls that an error names."""


def _with_calls(error: StepwellError, calls: Sequence[Operation]) -> StepwellError:
    """An error with a note for each call on the way to it, the innermost first."""
    innermost = calls[::-1]
    left_out = len(innermost) - 2 * MOST_SHOWN_CALLS
    shown = innermost if left_out <= 1 else [*innermost[:MOST_SHOWN_CALLS], *innermost[-MOST_SHOWN_CALLS:]]
    for number, op in enumerate(shown):
        if left_out > 1 and number == MOST_SHOWN_CALLS:
            error.with_note(f"… {left_out:,} more calls")
        error.with_note(f"in the call at {describe_location(op) or 'an unknown place'}")
    return error


def exhausted(running: Running) -> Any:
    """The result of a body that waits for no call. Raises: as the body."""
    try:
        running.send(None)
    except StopIteration as stop:
        return stop.value
    raise InternalError(None, "a body without calls waits for one")


def _failure(op: Operation, error: Exception) -> StepwellError:
    """The error of a call whose op raised an exception."""
    if isinstance(error, OutOfRange):
        return error_row(op).error(error.index, error.size)
    return StepwellError("run-time", op, f"{op.name}: {error}")


_FILES: Mapping[str, str] = {
    "adt": "data",
    "affine": "control_flow",
    "amx": "tiles",
    "arith": "scalars",
    "func": "control_flow",
    "gpu": "lanes.launch",
    "dev": "graph_ops",
    "graph": "graph_ops host_calls regions sizes",
    "linalg": "structured",
    "linalg_ext": "extended_ops",
    "math": "functions scalars",
    "memref": "buffers tensors",
    "ref": "data",
    "scf": "control_flow",
    "tensor": "tensors",
    "vector": "functions scalars transfers vectors",
}
"""The files of this folder that register the ops of a dialect; level 1 needs one line of it."""


@cache
def _load_handlers(dialect: str) -> None:
    for file in _FILES.get(dialect, "").split():
        import_module(f"{__package__}.{file}")


@dataclass(frozen=True)
class Handler:
    """The function that prepares an op, and whether it gets the compiler."""

    prepare: Callable[..., Any]
    has_regions: bool


class Waiting:
    """A step that is a generator: it may wait for calls."""

    def __init__(self, run: Callable[..., Running]):
        self.run = run


def step_of(run: Callable[..., Running], *bodies: Steps) -> Any:
    """
    The step of an op with regions, of a generator that runs them by `start`: `Waiting`, or a plain function
    where none of the bodies waits for a call.
    """
    if any(body.waits for body in bodies):
        return Waiting(run)

    def alone(*values: Value) -> Any:
        return exhausted(run(*values))

    return alone


_HANDLERS: dict[str, Handler] = {}


def implements(*names: str) -> Callable[[Callable[[Any], Step]], Callable[[Any], Step]]:
    """Register a function that prepares ops by name: it maps the op to a step on operand values."""

    def register(prepare: Callable[[Any], Step]) -> Callable[[Any], Step]:
        for name in names:
            _HANDLERS[name] = Handler(prepare, has_regions=False)
        return prepare

    return register


def implements_in_frame(
    *names: str,
) -> Callable[[Callable[..., Step | Waiting]], Callable[..., Step | Waiting]]:
    """
    As `implements`, for ops with regions or effects: the function gets the compiler too, the step the frame
    first.
    """

    def register(prepare: Callable[..., Step | Waiting]) -> Callable[..., Step | Waiting]:
        for name in names:
            _HANDLERS[name] = Handler(prepare, has_regions=True)
        return prepare

    return register


def implement_all(table: Mapping[str, Step]) -> None:
    """Register ops whose step does not depend on their attributes and types."""
    for name, step in table.items():
        _HANDLERS[name] = Handler(_same(step), has_regions=False)


def _same(step: Step) -> Callable[[Operation], Step]:
    """A function that prepares any op by the same step."""

    def prepare(_: Operation) -> Step:
        return step

    return prepare


@dataclass
class Compiler:
    """
    Prepares the blocks of one function; `machine` has the functions and weights that its ops use.
    """

    machine: Any
    _slots: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def slot(self, value: SSAValue) -> int:
        """The slot of a value."""
        return self._slots.setdefault(value, len(self._slots))

    def frame(self, scope: Scope) -> Frame:
        """A frame for one call."""
        return Frame([None] * len(self._slots), scope)

    def steps(self, block: Block) -> Steps:
        """
        Prepare a block and the blocks nested in it.

        Raises: StepwellError `unsupported-op` for an op that the interpreter cannot run.
        """
        args = [self.slot(arg) for arg in block.args]
        steps: list[_Prepared] = []
        last_read = _last_read(block)
        for op in block.ops:
            if op is block.last_op and op.has_trait(IsTerminator):
                return Steps(steps, args, [self.slot(value) for value in op.operands])
            steps.append(self._prepare(op, last_read.get(op, ())))
        return Steps(steps, args, [])

    def handler_of(self, op: Operation) -> Handler | None:
        """The handler of an op's name or dialect; None without one."""
        dialect = op.name.partition(".")[0]
        _load_handlers(dialect)
        return _HANDLERS.get(op.name) or _HANDLERS.get(f"{dialect}.*")

    def _prepare(self, op: Operation, last_read: Sequence[SSAValue]) -> _Prepared:
        """Prepare an op by the handler of its name or dialect."""
        handler = self.handler_of(op)
        if handler is None:
            raise StepwellError(
                "unsupported-op", op, f"the interpreter cannot run {op.name}", help=_conversion_of(op)
            )
        try:
            step = handler.prepare(op, self) if handler.has_regions else handler.prepare(op)
        except (TypeError, ValueError) as error:
            what = f"the interpreter cannot run {op.name}: {error}"
            help = "run `monomorphize` first" if f"!{VarType.name}<" in str(error) else None
            raise StepwellError("unsupported-op", op, what, help=help) from error
        waits = isinstance(step, Waiting)
        if isinstance(step, Waiting):
            step = step.run
        elif (watcher := STEP_WATCHER.get()) is not None:
            step = _watched(step, op, watcher, handler.has_regions)
        read = _reader([self.slot(value) for value in op.operands])
        results = tuple(self.slot(r) for r in op.results)
        result = results[0] if len(results) == 1 else None
        dead = tuple(self.slot(value) for value in last_read)
        return _Prepared(step, read, result, results, dead, handler.has_regions, waits, op)


def _watched(step: Step, op: Operation, watcher: StepWatcher, in_frame: bool) -> Step:
    """A step that reports each of its runs."""

    def run(*values: Value) -> Value:
        outcome = step(*values)
        watcher(op, values[1:] if in_frame else values, outcome)
        return outcome

    return run


def _last_read(block: Block) -> dict[Operation, list[SSAValue]]:
    """Maps ops of a block to tensors of the block for which they are the last use."""
    last: dict[SSAValue, Operation] = {}
    for op in block.ops:
        for value in chain(op.results, *(inner.operands for inner in op.walk())):
            if isinstance(value.type, TensorType) and _block_of(value) is block:
                last[value] = op
    found: dict[Operation, list[SSAValue]] = {}
    for value, op in last.items():
        found.setdefault(op, []).append(value)
    return found


def _block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent
