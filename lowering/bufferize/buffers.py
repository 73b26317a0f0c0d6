"""The buffer of each tensor while a function is rewritten, and the copies that cannot be avoided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.lowering.bufferize.accesses import Destination
from stepwell.lowering.bufferize.allocation import Storage
from stepwell.lowering.bufferize.conflicts import InPlaceAnalysis
from stepwell.lowering.bufferize.layouts import MemRef
from stepwell.runtime.errors import StepwellError


class Buffers:
    """
    Maps tensors to buffers.

    Args: `storage` gives each new buffer its memory; `arguments` maps the function's tensors to its buffers;
    with `no_copies`, a copy is an error.
    """

    def __init__(
        self,
        analysis: InPlaceAnalysis,
        storage: Storage,
        arguments: Mapping[SSAValue, SSAValue],
        no_copies: bool,
    ):
        self.paths = analysis.paths
        self._analysis = analysis
        self._storage = storage
        self._no_copies = no_copies
        self._of: dict[SSAValue, SSAValue] = dict(arguments)

    def __getitem__(self, value: SSAValue) -> SSAValue:
        """The buffer of a tensor that was defined before."""
        return self._of[value]

    def type_of(self, value: SSAValue) -> MemRef:
        """The type of a tensor's buffer."""
        return self.paths.types[value]

    def define(self, value: SSAValue, buffer: SSAValue) -> None:
        """Record the buffer of a tensor; the buffer inherits the tensor's name."""
        self._of[value] = buffer
        if buffer.name_hint is None and value.name_hint is not None:
            buffer.name_hint = value.name_hint

    def define_own(self, value: SSAValue, at: Operation) -> SSAValue:
        """Give a tensor a new buffer; the analysis found none that it can share."""
        buffer = self._storage.buffer(value, at)
        self.define(value, buffer)
        return buffer

    def has_own(self, value: SSAValue) -> bool:
        """Whether a tensor has a buffer of its own."""
        return self.paths.of[value].root is value

    def is_undefined(self, value: SSAValue) -> bool:
        """Whether a tensor's elements were never written."""
        return self._analysis.is_undefined(value)

    def destinations(self, op: Operation) -> Sequence[Destination]:
        """The operands that an op overwrites, as the analysis found them."""
        return self._analysis.destinations.get(op, ())

    def destination(self, op: Operation, destination: Destination) -> SSAValue:
        """
        The buffer for an op to write: the overwritten operand's, or a new one with a copy of the contents.
        """
        if not self.has_own(destination.result):
            self.define(destination.result, self[destination.operand])
        else:
            self.define_own(destination.result, op)
            if destination.is_read and not self.is_undefined(destination.operand):
                self.copy(self[destination.operand], self[destination.result], op)
        return self[destination.result]

    def copy(self, source: SSAValue, target: SSAValue, before: Operation) -> None:
        """
        Copy a buffer before an op, unless both are the same one.

        Raises: StepwellError `copy-needed` when copies are forbidden.
        """
        if source.type == target.type and _reshaped(source) is _reshaped(target):
            return
        if self._no_copies:
            raise StepwellError(
                "copy-needed",
                before,
                f"{before.name} needs a copy of {source.type}",
                note="its operand is read after it is overwritten, or is in another buffer than its result",
                help="run bufferize without no-copies to see the copy in the IR",
            )
        insert(memref.CopyOp(source, target), before)


def _reshaped(buffer: SSAValue) -> SSAValue:
    """The buffer whose elements another one has all, in the same order."""
    while isinstance(buffer.owner, memref.ExpandShapeOp | memref.CollapseShapeOp):
        buffer = buffer.owner.src
    return buffer


def insert(op: Operation, before: Operation) -> Sequence[SSAValue]:
    """Insert an op before another with the same location; returns its results."""
    return IRBuilder.before(before).insert(op).results
