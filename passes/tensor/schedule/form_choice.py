"""A legal form of an op of `linalg_ext` for a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from stepwell.dialects.linalg_ext.forms import FormsOp
from stepwell.dialects.sched import Schedule


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


def choices_of(op: FormsOp, cycles: Callable[[str, Mapping[str, int]], float | None]) -> list[Choice]:
    """The legal forms of an op in its order, with default sizes, and their estimates by form and sizes."""
    return [
        Choice(name, sizes := form.defaults(), cycles(name, sizes))
        for name, form in op.forms().items()
        if form.refusal is None
    ]
