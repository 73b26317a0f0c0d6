"""A legal form of an op of `linalg_ext` for a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stepwell.dialects.sched import Schedule


@dataclass(frozen=True)
class Choice:
    """A form with its sizes, and the estimated cycles of the op on a thread; None where sizes are open."""

    form: str
    sizes: Mapping[str, int]
    cycles: float | None = None

    def schedule(self) -> Schedule:
        """The form and the sizes as a schedule."""
        return Schedule(form=self.form, sizes=tuple(self.sizes.items()))

    @property
    def text(self) -> str:
        """The form and its sizes as a remark has them."""
        sizes = ", ".join(f"{name} = {size}" for name, size in self.sizes.items())
        estimate = "" if self.cycles is None else f", about {self.cycles:,.0f} cycles"
        return f"{self.form} ({sizes}{estimate})"
