"""Programs of sums of two tensors of bytes, each scaled before."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.dialects import npu
from stepwell.lowering.backends.npu.tiles import HALVES
from stepwell.lowering.backends.npu.writer import Writer
from stepwell.runtime.npu.config import config_of
from stepwell.runtime.npu.instructions import Uop

_PARAMETERS = 4


@dataclass(frozen=True)
class SumProgram:
    """
    The program of a sum of `count` elements: `a` and `b` of `inp`, `p` of `acc` with multipliers and shifts.

    Sums of 32 bits are loaded as bytes: a product with the identity, `w`, widens them.
    """

    count: int
    config: str
    points: tuple[int, int]
    """The numbers added to the bytes of each operand."""
    fraction: int
    """The fractional bits of the scaled operands."""
    point: int
    """The number added to each element of the result."""

    def program(self, name: str) -> npu.ProgramOp:
        """The program, whose instructions are in order and do not wait for each other yet."""
        sizes = config_of(self.config)
        elements = ("inp", self.count)
        arrays = {"a": elements, "b": elements, "w": ("wgt", 1), "p": ("acc", _PARAMETERS), "y": elements}
        writer = Writer(name, self.config, arrays, sizes)
        parameters = sizes.acc - _PARAMETERS
        writer.load("acc", "p", 0, parameters, (1, _PARAMETERS), _PARAMETERS)
        writer.load("wgt", "w", 0, 0, (1, 1), 1)
        # There is room for both operands of two tiles; the second tile's are in the other half.
        most = min(sizes.inp, sizes.acc - _PARAMETERS) // HALVES // 2
        for at in range(0, self.count, most):
            size = min(most, self.count - at)
            for side, array in enumerate("ab"):
                writer.load("inp", array, at, side * most, (1, size), size)
            sides = [[Uop(side * most, side * most)] for side in range(2)]
            for uops in sides:
                writer.gemm(uops, (1, size), (0, 1), reset=True)
            for uops in sides:
                writer.gemm(uops, (1, size), (0, 1), (0, 1))
            self._scaled(writer, most, size, parameters)
            writer.store("y", at, 0, (1, size), size)
        return writer.finish()

    def _scaled(self, writer: Writer, apart: int, size: int, parameters: int) -> None:
        """Scale both operands, add them and round."""
        loops = (1, size)
        for side in range(2):
            place = side * apart
            writer.alu("add", [Uop(place, 0)], loops, (0, 1), immediate=self.points[side])
            scale = Uop(place, parameters + 2 * side, parameters + 2 * side + 1)
            writer.alu("mulshift", [scale], loops, (0, 1))
        writer.alu("add", [Uop(0, apart)], loops, (0, 1), (0, 1))
        writer.alu("add", [Uop(0, 0)], loops, (0, 1), immediate=1 << (self.fraction - 1))
        writer.alu("shr", [Uop(0, 0)], loops, (0, 1), immediate=self.fraction)
        writer.alu("add", [Uop(0, 0)], loops, (0, 1), immediate=self.point)
