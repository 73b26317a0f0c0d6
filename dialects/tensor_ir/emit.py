"""Emitting index arithmetic, slices and loops: constants fold, and every op has a location."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, cast

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    TensorType,
    UnitAttr,
    VectorType,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.utils import split_dynamic_index_list
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects.arith import CmpfOp, like
from stepwell.dialects.sched import PARALLEL
from stepwell.dialects.tensor_ir.structured import tensor_element

Index: TypeAlias = int | SSAValue
"""An index as a number, or as an SSA value."""
OpT = TypeVar("OpT", bound=Operation)

INDEX = IndexType()


class Constants:
    """The constants of a function, each once, at the start of its body."""

    def __init__(self, func: FuncOp):
        self._block = func.body.block
        self._location = func.location
        self._known: dict[Attribute, SSAValue] = {}
        self._indices: dict[int, SSAValue] = {}
        for op in self._block.ops:
            # Only constants at the very start dominate all possible users.
            if not isinstance(op, arith.ConstantOp):
                break
            self._known.setdefault(op.value, op.result)

    def index(self, value: int) -> SSAValue:
        """An `index` constant."""
        if value not in self._indices:
            self._indices[value] = constant = self.of(IntegerAttr(value, INDEX), INDEX)
            constant.name_hint = constant.name_hint or f"c{value}".replace("-", "m")
        return self._indices[value]

    def zero(self, element: Attribute) -> SSAValue:
        """The zero of an element type."""
        return self.of(scalar_attr(element, 0), element)

    def of(self, attr: Attribute, type: Attribute) -> SSAValue:
        """The constant of an attribute."""
        if attr not in self._known:
            op = arith.ConstantOp.create(result_types=[type], properties={"value": attr})
            op.location = self._location
            first = self._block.first_op
            if first is None:
                self._block.add_op(op)
            else:
                self._block.insert_op_before(op, first)
            self._known[attr] = op.result
        return self._known[attr]


def scalar_attr(element: Attribute, value: float) -> Attribute:
    """A number as a constant of an element type. Raises: TypeError for a type that is no number."""
    if isinstance(element, AnyFloat):
        return FloatAttr(float(value), element)
    if isinstance(element, IntegerType | IndexType):
        return cast(Attribute, IntegerAttr(int(value), cast(IntegerType | IndexType, element)))
    raise TypeError(f"no constant of type {element}")


def dense_attr(type: VectorType[Attribute], numbers: Sequence[float]) -> Attribute:
    """A vector constant, its elements in row-major order."""
    return DenseIntOrFPElementsAttr.from_list(type, numbers)  # pyright: ignore


@dataclass(frozen=True)
class Slice:
    """A strided block of a tensor, one offset, size and stride for each dimension."""

    offsets: tuple[Index, ...]
    sizes: tuple[Index, ...]
    strides: tuple[int, ...]


class Emitter:
    """Adds ops at the end of a block, or before one of its ops, with a location."""

    def __init__(
        self, block: Block, constants: Constants, location: LocationAttr, before: Operation | None = None
    ):
        self.block = block
        self.constants = constants
        self.location = location
        self._before = before
        self._sums: dict[tuple[int, Index], SSAValue] = {}

    @staticmethod
    def before(op: Operation, constants: Constants) -> Emitter:
        """Emits before an op, with its location."""
        assert (block := op.parent) is not None
        return Emitter(block, constants, op.location, op)

    def inside(self, block: Block) -> Emitter:
        """Emits at the end of a block inside this one's, which sees the sums made so far."""
        inner = Emitter(block, self.constants, self.location)
        inner._sums = dict(self._sums)
        return inner

    @property
    def place(self) -> InsertPoint:
        """The point at which the next op is inserted."""
        return InsertPoint.at_end(self.block) if self._before is None else InsertPoint.before(self._before)

    def move_before(self, op: Operation) -> None:
        """Continue before an op further down in the same block, with its location."""
        self._before = op
        self.location = op.location

    def add(self, op: OpT) -> OpT:
        """Insert an op; it gets the emitter's location."""
        op.location = self.location
        if self._before is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self._before)
        return op

    def value(self, op: Operation) -> SSAValue:
        """Insert an op and return its first result."""
        return self.add(op).results[0]

    def materialize(self, index: Index) -> SSAValue:
        """The value of an index."""
        return self.constants.index(index) if isinstance(index, int) else index

    def plus(self, lhs: Index, rhs: Index) -> Index:
        """The sum of two indices."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs + rhs
        if isinstance(lhs, int):
            lhs, rhs = rhs, lhs
        if isinstance(lhs, int) or rhs == 0:
            return lhs
        key = (id(lhs), rhs)
        if key not in self._sums:
            self._sums[key] = self._binary(arith.AddiOp, lhs, self.materialize(rhs))
        return self._sums[key]

    def times(self, lhs: Index, factor: int) -> Index:
        """An index times a number."""
        if isinstance(lhs, int):
            return lhs * factor
        return lhs if factor == 1 else self._binary(arith.MuliOp, lhs, self.constants.index(factor))

    def minus(self, lhs: Index, rhs: Index) -> Index:
        """The difference of two indices."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs - rhs
        return lhs if rhs == 0 else self._binary(arith.SubiOp, self.materialize(lhs), self.materialize(rhs))

    def rounded_down(self, extent: Index, step: int) -> Index:
        """The largest multiple of `step` that is not above an extent."""
        if isinstance(extent, int):
            return extent // step * step
        if step == 1:
            return extent
        return self.minus(extent, self._binary(arith.RemUIOp, extent, self.constants.index(step)))

    def quotient(self, lhs: Index, step: int) -> Index:
        """The quotient, rounded down, of a non-negative index and a number."""
        if isinstance(lhs, int):
            return lhs // step
        return lhs if step == 1 else self._binary(arith.DivUIOp, lhs, self.constants.index(step))

    def least(self, lhs: Index, rhs: Index) -> Index:
        """The smaller of two indices."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return min(lhs, rhs)
        return self._binary(arith.MinSIOp, self.materialize(lhs), self.materialize(rhs))

    def most(self, lhs: Index, rhs: Index) -> Index:
        """The larger of two indices."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            return max(lhs, rhs)
        return self._binary(arith.MaxSIOp, self.materialize(lhs), self.materialize(rhs))

    def _binary(self, op_type: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        flags: dict[str, Attribute] = {}
        if op_type in (arith.AddiOp, arith.MuliOp, arith.SubiOp):
            flags["overflowFlags"] = arith.IntegerOverflowAttr("none")
        return self.value(op_type.create(operands=[lhs, rhs], result_types=[INDEX], properties=flags))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """A comparison of floats, such as `ogt`."""
        number = arith.CMPF_COMPARISON_OPERATIONS.index(predicate)
        properties = {"predicate": IntegerAttr(number, i64), "fastmath": arith.FastMathFlagsAttr("none")}
        return self.value(
            CmpfOp.create(operands=[a, b], result_types=[like(a.type, i1)], properties=properties)
        )

    def empty(self, element: Attribute, sizes: Sequence[Index]) -> SSAValue:
        """A tensor whose elements are not set yet."""
        dynamic = [size for size in sizes if not isinstance(size, int)]
        return self.value(
            tensor.EmptyOp.create(operands=dynamic, result_types=[TensorType(element, static_shape(sizes))])
        )

    def extract(self, source: SSAValue, block: Slice) -> SSAValue:
        """A strided block of a tensor, of the same rank."""
        type = TensorType(tensor_element(source), static_shape(block.sizes))
        return self.value(tensor.ExtractSliceOp(source, block.offsets, block.sizes, block.strides, type))

    def insert(self, tile: SSAValue, into: SSAValue, block: Slice) -> SSAValue:
        """A tensor with a block replaced."""
        offsets, dynamic_offsets = split_dynamic_index_list(block.offsets, DYNAMIC_INDEX)
        sizes, dynamic_sizes = split_dynamic_index_list(block.sizes, DYNAMIC_INDEX)
        op = tensor.InsertSliceOp.build(
            operands=[tile, into, dynamic_offsets, dynamic_sizes, []],
            result_types=[into.type],
            properties={
                "static_offsets": DenseArrayBase.from_list(i64, offsets),
                "static_sizes": DenseArrayBase.from_list(i64, sizes),
                "static_strides": DenseArrayBase.from_list(i64, block.strides),
            },
        )
        return self.value(op)

    def loop(
        self,
        start: Index,
        stop: Index,
        step: int,
        carried: Sequence[SSAValue],
        body: Callable[[Emitter, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
        *,
        parallel: bool = False,
    ) -> Sequence[SSAValue]:
        """An `scf.for` that carries values; `body` gets an emitter, the loop's index and the values."""
        types = [value.type for value in carried]
        block = Block(arg_types=[INDEX, *types])
        inside = self.inside(block)
        results = body(inside, block.args[0], block.args[1:])
        inside.add(scf.YieldOp(*results))
        bounds = [self.materialize(bound) for bound in (start, stop, step)]
        loop = scf.ForOp.create(operands=[*bounds, *carried], result_types=types, regions=[Region(block)])
        if parallel:
            loop.attributes[PARALLEL] = UnitAttr()
        return self.add(loop).results


def static_shape(sizes: Sequence[Index]) -> list[int]:
    """The shape of a type with these sizes."""
    return [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes]
