"""A legal form of an op of `linalg_ext` for a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from stepwell.dialects.linalg_ext.forms import FormsOp
from stepwell.dialects.sched import Schedule
from stepwell.runtime.machine.target import TargetDescription


@dataclass(frozen=True)
class Choice:
    """
    A form with its sizes, and the estimated cycles of the op; None where sizes are open.

    Cycles are of one thread, and of all cores where forms differ in what threads share.
    """

    form: str
    sizes: Mapping[str, int]
    cycles: float | None = None

    def schedule(self) -> Schedule:
        """The form and the sizes as a schedule."""
        return Schedule(form=self.form, sizes=tuple(self.sizes.items()))

    @property
    def text(self) -> str:
        """The form and its sizes as a remark has them."""
        parts = [f"{name} = {size}" for name, size in self.sizes.items()]
        parts += [] if self.cycles is None else [f"about {self.cycles:,.0f} cycles"]
        return f"{self.form} ({', '.join(parts)})" if parts else self.form


OpT = TypeVar("OpT", bound=FormsOp)
Choices: TypeAlias = Callable[[OpT, TargetDescription], Sequence[Choice]]
"""The legal forms of an op with their sizes for a target, first the one to choose."""


def by_default(
    cycles: Callable[[OpT, str, Mapping[str, int], TargetDescription], float | None],
) -> Choices[OpT]:
    """The legal forms of an op in its order, with default sizes and the cycles by form and sizes."""
    return lambda op, target: [
        Choice(name, sizes := form.defaults(), cycles(op, name, sizes, target))
        for name, form in op.forms().items()
        if form.refusal is None
    ]
