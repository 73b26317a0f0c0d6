"""A bound on the iterations of loops in kernels: the text of a stranger may never end."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.ir import Operation

from stepwell.runtime.environment import ITERATIONS
from stepwell.runtime.errors import StepwellError


class Loop(NamedTuple):
    """A loop of a kernel."""

    order: tuple[int, int]
    """A key that sorts outer loops before those inside of them."""
    where: Operation | str
    """The op, or the instruction that goes back."""


class Iterations:
    """
    The iterations of all loops that the blocks of a group have run together.

    Raises: StepwellError `bad-option` where `STEPWELL_ITERATIONS` is no number.
    """

    def __init__(self, kernel: str):
        self._kernel, self._most, self._count = kernel, ITERATIONS.count("iterations"), 0
        self._late: dict[Loop, None] = {}
        """Loops of the second half: one around an endless loop goes on no more by then."""

    def add(self, loop: Loop) -> None:
        """Count an iteration. Raises: StepwellError `endless-kernel` for too many."""
        self._count += 1
        if 2 * self._count <= self._most:
            return
        self._late[loop] = None
        if self._count > self._most:
            raise self._endless()

    def _endless(self) -> StepwellError:
        where = min(self._late, key=lambda loop: loop.order).where
        at, name = (None, f"the loop that ends with {where}") if isinstance(where, str) else (where, "a loop")
        message = f"{name} of @{self._kernel} still goes on after {self._most:,} iterations"
        help = f"let the loop end, or set {ITERATIONS.name} to a larger number"
        return StepwellError("endless-kernel", at, message, help=help)
