"""The interface of a backend: a table of patterns, a predicate, a compiler, a loader."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from stepwell.runtime.interface import Array

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Operation, SSAValue

    from stepwell.patterns import Pattern
    from stepwell.runtime.files.weights import WeightStore
    from stepwell.runtime.machine.named_target import Target
    from stepwell.runtime.machine.target import TargetDescription

Arrays: TypeAlias = Sequence[Array]
Row: TypeAlias = "tuple[str, Pattern | Callable[[], Pattern], Callable[[SSAValue], bool] | None]"


class Constants:
    """The arrays of the constants in a partition."""

    def __init__(self, weights: WeightStore):
        self.weights = weights

    def of(self, value: SSAValue) -> Array | None:
        """The array of a value that is a constant; None for any other value."""
        from stepwell.dialects.graph.structure import constant_of

        return constant_of(value, self.weights)


class Backend(ABC):
    """
    An engine that computes partitions of a model.

    The compiler asks, at level 1: first `table`, row by row, for subgraphs that the backend computes as one
    op; then `supports` for single ops. Each connected part of the accepted ops becomes one function;
    `compile` converts it to bytes, which are part of the artifact; `load` runs them, in process and from an
    artifact alike.

    A subclass imports the compiler's modules (xDSL, patterns, dialects) inside `compile` and `supports`, not
    at the top of its file, if models with its partitions are to be loaded where there is no compiler.
    """

    name: ClassVar[str]
    """The name on the command line: `stepwell compile --backend acme`."""

    table: Sequence[Row] = ()
    """
    Rows of (name, pattern, check or None); the first row that matches gets the ops. Names start with the
    backend's (`"acme.conv_relu"`); a function that returns the pattern avoids building it on loading;
    `check(value)` may refuse a match by its root.
    """

    passes: Sequence[str] = ()
    """Passes of level 1 that run before the table is matched, and make the ops that its rows look for."""

    is_tried: bool = True
    """Whether the compiler runs each part once as a test; False where this takes long."""

    def for_target(self, target: Target) -> Backend:
        """The backend for a target of its name, with the target's attributes."""
        return self

    def require(self) -> None:  # noqa: B027  # most engines need nothing
        """
        Check that the engine is installed. Raises: StepwellError `missing-package`, with what to install.
        """

    def supports(self, op: Operation) -> bool:
        """Whether the backend computes an op, or a composite of another table, by itself."""
        return False

    @abstractmethod
    def compile(self, func: FuncOp, constants: Constants, target: TargetDescription) -> bytes:
        """
        Compile a partition for a target.

        Args: `func` has tensor arguments and results, and contains graph ops and composites of `table`; it
        belongs to the callee, which may change it. `constants` has the arrays of its constants.
        Returns: the code for `load`.
        """

    @abstractmethod
    def load(self, code: bytes) -> Callable[[Arrays, list[Array]], None]:
        """
        The function of a compiled partition: `call(inputs, outputs)` reads the inputs and fills the outputs.
        """
