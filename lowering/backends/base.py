"""What a backend is: a table of patterns, a predicate, a compiler, a loader."""

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
    from stepwell.runtime.machine.target import TargetDescription

Arrays: TypeAlias = Sequence[Array]
Row: TypeAlias = "tuple[str, Pattern | Callable[[], Pattern], Callable[[SSAValue], bool] | None]"


class Constants:
    """The arrays behind the constants of a partition."""

    def __init__(self, weights: WeightStore):
        self.weights = weights

    def of(self, value: SSAValue) -> Array | None:
        """The array behind a value when it is a constant; None otherwise."""
        from stepwell.dialects.graph.structure import constant_of

        return constant_of(value, self.weights)


class Backend(ABC):
    """
    An engine that takes part of a model.

    The compiler asks, at level 1: first `table`, row by row, for subgraphs that it takes as one op; then
    `supports` for single ops. What it took becomes one function for each connected part; `compile` turns it
    into bytes, which are part of the artifact; `load` runs them, in process and from an artifact alike.

    A subclass keeps the compiler's modules (xDSL, patterns, dialects) out of the top of its file, if models
    with its partitions are to be loaded where there is no compiler: `compile` and `supports` import them.
    """

    name: ClassVar[str]
    """As users write it: `stepwell compile --backend acme`."""

    table: Sequence[Row] = ()
    """
    Rows of (name, pattern, check or None); the first one that matches takes its ops. Names start with the
    backend's (`"acme.conv_relu"`); a function that makes the pattern keeps it from being built on loading;
    `check(value)` may refuse a match by its root.
    """

    def require(self) -> None:  # noqa: B027  # most engines need nothing
        """Look whether the engine is there. Raises: StepwellError `missing-package`, with what to install."""

    def supports(self, op: Operation) -> bool:
        """Whether it takes an op, or a composite of another table, by itself."""
        return False

    @abstractmethod
    def compile(self, func: FuncOp, constants: Constants, target: TargetDescription) -> bytes:
        """
        Compile a partition for a target.

        Args: `func` takes and returns tensors, and holds graph ops and composites of `table`; it belongs to
        the callee, who may change it. `constants` has the arrays of its constants.
        Returns: what `load` makes the function of.
        """

    @abstractmethod
    def load(self, code: bytes) -> Callable[[Arrays, list[Array]], None]:
        """
        The function of a compiled partition: `call(inputs, outputs)` reads the inputs and fills the outputs.
        Both are arrays that the caller owns, valid during the call. Several threads may call it at once.
        """
