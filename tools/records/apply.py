"""Tuned schedules as attributes of the kernels of a program."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from stepwell import __version__
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.sched import SCHEDULE, TUNED, ScheduleAttr
from stepwell.dialects.sched_attributes import are_tuned, is_script
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.schedule_script.files import script_of_text
from stepwell.lowering.kernels.kernel_object import canonical_text
from stepwell.passes.context import remark
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.records.lookup import Lookup
from stepwell.tools.records.transfer import nearest

_DIGEST_BYTES = 16


def task_of(kernel: FuncOp) -> tuple[str, str]:
    """The digest and the text of a kernel of level 2, without schedules and names."""
    bare = kernel
    if TUNED in kernel.attributes or any(SCHEDULE in op.attributes for op in kernel.walk()):
        bare = kernel.clone()
        bare.attributes.pop(TUNED, None)
        for op in bare.walk():
            op.attributes.pop(SCHEDULE, None)
    text = canonical_text(bare)
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest(), text


def tuned_attr(script: str, ctx: StepwellContext) -> DictionaryAttr | StringAttr:
    """
    The value of `sched.tuned` that a record's schedule spells: the script, which is parsed, or the lists.

    Raises: StepwellError `bad-schedule` where it spells none.
    """
    if is_script(script):
        try:
            script_of_text(script)
        except (StepwellError, RecursionError) as error:
            reason = error.message if isinstance(error, StepwellError) else "it is nested too deeply"
            raise StepwellError("bad-schedule", None, f"a tuned schedule cannot be read: {reason}") from None
        return StringAttr(script)
    return tuned_lists(script, ctx)


def tuned_lists(script: str, ctx: StepwellContext) -> DictionaryAttr:
    """The lists of schedules that a record of before spells. Raises: StepwellError `bad-schedule`."""
    try:
        value = Parser(ctx, script, "script").parse_attribute()
    except (ParseError, VerifyException, RecursionError, ValueError) as error:
        reason = str(error).strip().rpartition("\n")[2].strip()
        raise StepwellError("bad-schedule", None, f"a tuned schedule cannot be read: {reason}") from None
    if not isinstance(value, DictionaryAttr) or not are_tuned(value):
        message = f"a tuned schedule is {{forms = […], tiles = […]}}, found {script:.80}"
        raise StepwellError("bad-schedule", None, message)
    return value


def script_of(attr: DictionaryAttr) -> str:
    """The text of a value of `sched.tuned`."""
    return str(attr)


def schedules_in(attr: DictionaryAttr, kind: str) -> list[ScheduleAttr | None]:
    """The schedules of a kind in a value of `sched.tuned`; None for an op that has none."""
    found: Attribute | None = attr.data.get(kind)
    each = cast("ArrayAttr[Attribute]", found).data if isinstance(found, ArrayAttr) else ()
    return [one if isinstance(one, ScheduleAttr) else None for one in each]


def apply_records(
    module: ModuleOp,
    ctx: StepwellContext,
    target: TargetDescription,
    files: Sequence[Path],
    *,
    transfer: bool = False,
) -> tuple[int, int]:
    """
    Give kernels of level 2 their best schedules of databases.

    Args: `transfer`: those without any take the schedule of the nearest kernel of equal structure.

    Returns: the number of kernels that got one, and that of all kernels.
    Raises: StepwellError of a file that cannot be read.
    """
    kernels = [op for op in module.ops if isinstance(op, FuncOp) and is_kernel(op) and not op.is_declaration]
    tasks = {kernel: task_of(kernel) for kernel in kernels if TUNED not in kernel.attributes}
    lookup = Lookup(files, [task for task, _ in tasks.values()], transfer=transfer)
    here = machine_name(), target_digest(target), __version__
    used = 0
    for kernel, (task, text) in tasks.items():
        best = lookup.best(task, *here)
        if best is None and transfer:
            others = (lookup.best(other, *here) for other in nearest(text, lookup.tasks))
            best = next((other for other in others if other is not None), None)
        if best is None:
            continue
        try:
            kernel.attributes[TUNED] = tuned_attr(best.script, ctx)
            used += 1
        except StepwellError as error:
            remark(kernel, f"the tuned schedule is not used: {error.message}")
    if lookup.foreign:
        remark(module, f"{lookup.foreign} tuned schedules are of other machines or targets, and are not used")
    if lookup.skipped:
        remark(module, f"{lookup.skipped} lines of the databases were skipped")
    return used, len(kernels)
