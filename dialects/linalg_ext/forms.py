"""Forms: the ways to compute an op of `linalg_ext`, each with named sizes and their legal values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, traits_def
from xdsl.traits import Pure

from stepwell.dialects.sched import SCHEDULE, Schedule, schedule_of
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class Size:
    """The legal values of a size, multiples of `step` up to `most`, and the one if a schedule has none."""

    default: int
    most: int
    step: int = 1
    is_power: bool = False
    """Whether these are powers of two."""

    def __contains__(self, number: int) -> bool:
        is_odd = self.is_power and number & (number - 1)
        return self.step <= number <= self.most and number % self.step == 0 and not is_odd

    def __str__(self) -> str:
        if self.most == self.step:
            return f"{self.most}"
        kind = "powers of 2 from " if self.is_power else f"multiples of {self.step} from "
        return f"{kind if self.is_power or self.step > 1 else ''}{self.step} to {self.most}"


def _fits(sizes: Mapping[str, int]) -> str | None:
    """The check of a form whose sizes are independent."""
    return None


@dataclass(frozen=True)
class Form:
    """A way to compute an op: its sizes, or the reason why this op does not have it."""

    sizes: Mapping[str, Size]
    refusal: str | None = None
    misfit: Callable[[Mapping[str, int]], str | None] = _fits
    """The reason why sizes, each legal, do not go together; None if they do."""

    def defaults(self) -> dict[str, int]:
        """The sizes where a schedule says none."""
        return {name: size.default for name, size in self.sizes.items()}


class FormsOp(IRDLOperation, ABC):
    """An op whose schedule is a form."""

    traits = traits_def(Pure())

    @abstractmethod
    def forms(self) -> Mapping[str, Form]:
        """All forms of such ops by name, with the sizes that are legal for this op; first the default."""


def form_of(op: FormsOp) -> tuple[str, dict[str, int]]:
    """
    The form of an op and all its sizes: those of its schedule, else the defaults.

    Raises: StepwellError `bad-schedule` for a form or a size that is not legal for the op.
    """
    schedule = schedule_of(op)
    if schedule is None:
        name, form = next(iter(op.forms().items()))
        return name, form.defaults()
    return checked_form(op, schedule)


def checked_form(op: FormsOp, schedule: Schedule) -> tuple[str, dict[str, int]]:
    """
    The form of a schedule that an op has or may get, and all its sizes.

    Raises: StepwellError `bad-schedule`, as `form_of`.
    """
    forms, name, given = op.forms(), schedule.form, dict(schedule.sizes)
    if (form := forms.get(name)) is None:
        raise bad_schedule(op, f"form must be {' or '.join(forms)}, found '{name}'", schedule)
    if form.refusal is not None:
        raise bad_schedule(op, form.refusal, schedule)
    for key, number in given.items():
        if (size := form.sizes.get(key)) is None:
            found = f"sizes of form {name} are {', '.join(form.sizes) or 'none'}, found {key}"
            raise bad_schedule(op, found, schedule)
        if number not in size:
            raise bad_schedule(op, f"{key} of form {name} must be {size}, found {number}", schedule)
    sizes = {**form.defaults(), **given}
    if (reason := form.misfit(sizes)) is not None:
        raise bad_schedule(op, reason, schedule)
    return name, sizes


def scheduled_ops(module: Operation, pass_name: str) -> list[Operation]:
    """The ops whose schedules a pass wrote: `choose-forms`, or `choose-schedules` after `expand-forms`."""
    are_forms = pass_name == "choose-forms"
    return [op for op in module.walk() if SCHEDULE in op.attributes and isinstance(op, FormsOp) == are_forms]


def bad_schedule(op: FormsOp, message: str, schedule: Schedule) -> StepwellError:
    """The error of a schedule that an op cannot have."""
    return StepwellError(
        "bad-schedule", op, f"{op.name}: {message}", note=f"the schedule is {schedule.attr()}"
    )
