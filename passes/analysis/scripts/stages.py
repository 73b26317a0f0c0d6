"""Stages: the ops of a kernel that have schedules, by name; and the kernels that scripts name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Use

from stepwell.dialects.linalg_ext import FormsOp
from stepwell.dialects.locations import node_names
from stepwell.dialects.sched import NAME
from stepwell.dialects.schedule_script import ScriptOp, SetFormOp, SetSizeOp, StageOp
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes.analysis.scripts.formula import listed
from stepwell.passes.base import functions_of
from stepwell.runtime.errors import StepwellError, did_you_mean


def stages_of(func: FuncOp) -> dict[str, Operation]:
    """The ops of a function that can have a schedule, by their names as stages."""
    ops = [op for op in func.walk() if isinstance(op, FormsOp) or Structured.of(op) is not None]
    # An op that was given a name has it, also where the result of one before is called so.
    given: dict[str, Operation] = {}
    for op in ops:
        if isinstance(name := op.attributes.get(NAME), StringAttr):
            given.setdefault(name.data, op)
    found: dict[str, Operation] = {}
    for op in ops:
        plain, number = _plain_name(op), 1
        name = plain
        while name in found or given.get(name, op) is not op:
            name, number = f"{plain}.{number}", number + 1
        found[name] = op
    return found


def stages_by_op(func: FuncOp) -> dict[str, Operation]:
    """
    The ops of a function that can have a schedule, by the names of their kinds: `linalg.generic.1` is the
    second generic op. These names do not depend on the names of values, which a database does not record.
    """
    ops = stages_of(func).values()
    return dict(zip(numbered([op.name for op in ops]), ops, strict=True))


def numbered(kinds: Iterable[str]) -> Iterator[str]:
    """Names of things of some kinds: the kind and the number among those of the kind, from 0."""
    counts: dict[str, int] = {}
    for kind in kinds:
        number = counts[kind] = counts.get(kind, -1) + 1
        yield f"{kind}.{number}"


def _plain_name(op: Operation) -> str:
    if isinstance(name := op.attributes.get(NAME), StringAttr):
        return name.data
    return op.results[0].name_hint or op.name.partition(".")[2]


def kernel_for(script: ScriptOp, module: ModuleOp) -> FuncOp:
    """
    The function of a script: by the symbol, else by a node of the model or a stage of the function.

    Raises: StepwellError `illegal-schedule` where there is none, or several.
    """
    name, functions = script.target.data, functions_of(module)
    if named := [func for func in functions if func.sym_name.data == name]:
        return named[0]
    found = [func for func in functions if name in _nodes(func)]
    found = found or [func for func in functions if name in stages_of(func)]
    symbols = [func.sym_name.data for func in functions]
    if not found:
        help = f"{did_you_mean(name, symbols)}the functions are {listed(symbols[:10])}"
        raise refused(script, f"no kernel, node or stage is named {name}", help=help)
    if len(found) > 1:
        several = listed(func.sym_name.data for func in found)
        raise refused(script, f"{name} is in {several}", help="name one of the kernels")
    return found[0]


def _nodes(func: FuncOp) -> Sequence[str]:
    return [name for op in func.walk() for name in node_names(op.location)]


def refused(
    op: Operation, message: str, note: str | Sequence[str] = (), help: str | None = None
) -> StepwellError:
    """The error of a step that is not legal."""
    return StepwellError("illegal-schedule", op, message, note=note, help=help)


def chooses_form(stage: StageOp) -> bool:
    """Whether a script chooses the form of a stage."""
    uses: list[Use] = list(stage.result.uses)
    return any(isinstance(use.operation, (SetFormOp, SetSizeOp)) for use in uses)
