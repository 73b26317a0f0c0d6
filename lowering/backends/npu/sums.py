"""Programs of sums of two tensors of bytes, each scaled before."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

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
        """The program, whose tokens are still values."""
        sizes = config_of(self.config)
        elements = ("inp", self.count)
        arrays = {"a": elements, "b": elements, "w": ("wgt", 1), "p": ("acc", _PARAMETERS), "y": elements}
        writer = Writer(name, self.config, arrays, sizes)
        parameters = sizes.acc - _PARAMETERS
        writer.load("acc", "p", 0, parameters, (1, _PARAMETERS), _PARAMETERS)
        packed = writer.load("wgt", "w", 0, 0, (1, 1), 1)
        most = min(sizes.inp // HALVES // 2, (sizes.acc - _PARAMETERS) // HALVES // 2)
        products: dict[int, SSAValue] = {}
        stores: dict[int, SSAValue] = {}
        for number, at in enumerate(range(0, self.count, most)):
            half, size = number % HALVES, min(most, self.count - at)
            first, sums = half * 2 * most, half * 2 * most
            wait = [products[half]] if half in products else []
            loads = [
                writer.load("inp", array, at, first + side * most, (1, size), size, after=wait)
                for side, array in enumerate("ab")
            ]
            earlier = [stores[half]] if half in stores else []
            uops = [Uop(sums + side * most, first + side * most) for side in range(2)]
            writer.gemm(uops, (1, size), (0, 1), reset=True, after=earlier)
            products[half] = writer.gemm(uops, (1, size), (0, 1), (0, 1), after=[*loads, packed])
            done = self._scaled(writer, sums, most, size, parameters)
            stores[half] = writer.store("y", at, sums, (1, size), size, after=[done])
        return writer.finish(list(stores.values()))

    def _scaled(self, writer: Writer, sums: int, apart: int, size: int, parameters: int) -> SSAValue:
        """Scale both operands, add them and round."""
        loops = (1, size)
        for side in range(2):
            place = sums + side * apart
            writer.alu("add", [Uop(place, 0)], loops, (0, 1), immediate=self.points[side])
            scale = Uop(place, parameters + 2 * side, parameters + 2 * side + 1)
            writer.alu("mulshift", [scale], loops, (0, 1))
        writer.alu("add", [Uop(sums, sums + apart)], loops, (0, 1), (0, 1))
        writer.alu("add", [Uop(sums, 0)], loops, (0, 1), immediate=1 << (self.fraction - 1))
        writer.alu("shr", [Uop(sums, 0)], loops, (0, 1), immediate=self.fraction)
        return writer.alu("add", [Uop(sums, 0)], loops, (0, 1), immediate=self.point)
