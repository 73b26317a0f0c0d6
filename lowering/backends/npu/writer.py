"""A writer of programs of the accelerator: instructions in order, which do not wait for each other yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DenseArrayBase, MemRefType, StringAttr, UnitAttr, i8, i32, i64
from xdsl.ir import Attribute, Block, BlockArgument, Region

from stepwell.dialects import npu
from stepwell.dialects.npu.tokens import TokenType
from stepwell.dialects.types import int_attr
from stepwell.runtime.npu.config import Config
from stepwell.runtime.npu.instructions import Uop

Pair = tuple[int, int]


class Writer:
    """A program in the making; each method adds an instruction."""

    def __init__(self, name: str, config: str, arrays: Mapping[str, tuple[str, int]], sizes: Config):
        """Args: `arrays` maps the name of each array to the buffer of its elements and their number."""
        self._block = Block(arg_types=[_type(*about, sizes) for about in arrays.values()])
        self._arrays = dict(zip(arrays, self._block.args, strict=True))
        for array, argument in self._arrays.items():
            argument.name_hint = array
        self._about: dict[str, Attribute] = {"sym_name": StringAttr(name), "config": StringAttr(config)}

    def load(
        self,
        buffer: str,
        array: str,
        dram: int,
        sram: int,
        size: Pair,
        stride: int,
        *,
        pad: Sequence[int] = (0, 0, 0, 0),
        value: int = 0,
    ) -> None:
        """A copy of rows into a buffer, with padding above, below, left and right."""
        properties = _transfer(dram, sram, size, stride) | {"buffer": StringAttr(buffer)}
        if any(pad):
            properties |= {"pad": _list(*pad), "value": int_attr(value)}
        self._add(npu.LoadOp, properties, [self._arrays[array]])

    def store(self, array: str, dram: int, sram: int, size: Pair, stride: int) -> None:
        """A copy of sums, clipped to signed bytes, into rows of an array."""
        self._add(npu.StoreOp, _transfer(dram, sram, size, stride), [self._arrays[array]])

    def gemm(
        self, uops: Sequence[Uop], loops: Pair, dst: Pair, src: Pair = (0, 0), *, reset: bool = False
    ) -> None:
        """Products of blocks, or zeros."""
        properties = _looped(uops, loops, dst, src)
        if reset:
            properties["reset"] = UnitAttr()
        self._add(npu.GemmOp, properties)

    def alu(
        self,
        kind: str,
        uops: Sequence[Uop],
        loops: Pair,
        dst: Pair,
        src: Pair = (0, 0),
        *,
        immediate: int | None = None,
    ) -> None:
        """An operation on sums."""
        properties = _looped(uops, loops, dst, src) | {"kind": StringAttr(kind)}
        if immediate is not None:
            properties["immediate"] = int_attr(immediate)
        self._add(npu.AluOp, properties)

    def finish(self) -> npu.ProgramOp:
        """The whole program."""
        self._add(npu.FinishOp, {})
        return npu.ProgramOp.create(properties=self._about, regions=[Region(self._block)])

    def _add(
        self,
        kind: type[npu.InstructionOp],
        properties: dict[str, Attribute],
        operands: Sequence[BlockArgument] = (),
    ) -> None:
        op = kind.create(operands=list(operands), result_types=[TokenType()], properties=properties)
        self._block.add_op(op)


def _type(buffer: str, count: int, sizes: Config) -> MemRefType[Attribute]:
    """The type of an array of elements of a buffer."""
    return MemRefType(i32 if buffer == "acc" else i8, [count, *sizes.element(buffer)])


def _transfer(dram: int, sram: int, size: Pair, stride: int) -> dict[str, Attribute]:
    numbers = {"dram": dram, "sram": sram, "stride": stride}
    return {**{name: int_attr(number) for name, number in numbers.items()}, "size": _list(*size)}


def _looped(uops: Sequence[Uop], loops: Pair, dst: Pair, src: Pair) -> dict[str, Attribute]:
    numbers = [n for uop in uops for n in (uop.dst, uop.src, uop.wgt)]
    pairs = {"loops": loops, "dst": dst, "src": src, "wgt": (0, 0)}
    return {"uops": _list(*numbers), **{name: _list(*pair) for name, pair in pairs.items()}}


def _list(*numbers: int) -> Attribute:
    return DenseArrayBase.from_list(i64, numbers)
