"""The builder of new IR: where ops go, their locations, constants, and index arithmetic that folds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import ClassVar, Self, TypeAlias, cast

from xdsl.builder import Builder, InsertOpInvT
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    TensorType,
    UnitAttr,
    UnknownLoc,
    VectorType,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects.arith import like, vector_form
from stepwell.dialects.locations import locate_built
from stepwell.runtime.dims import Dim
from stepwell.runtime.integers.expression_text import Algebra

Index: TypeAlias = int | SSAValue
"""An index as a number, or as an SSA value."""

INDEX = IndexType()
_NO_FLAGS = {"overflowFlags": arith.IntegerOverflowAttr("none")}


def number_attr(number: float, type: Attribute) -> Attribute:
    """
    A number as a constant of a scalar type, or in every lane of a vector.

    Raises: TypeError for a type that is no number.
    """
    key = (repr(number), type)  # -0.0 and True are equal to other numbers
    if (known := _NUMBERS.get(key)) is None:
        if len(_NUMBERS) >= 4096:
            _NUMBERS.clear()
        known = _NUMBERS[key] = _made_number(number, type)
    return known


_NUMBERS: dict[tuple[str, Attribute], Attribute] = {}
"""Constants that were made: kernels have the same few, and a vector's takes a twentieth of a compilation."""


def _made_number(number: float, type: Attribute) -> Attribute:
    if isinstance(type, VectorType):
        return dense_attr(cast("VectorType[Attribute]", type), [number])
    if isinstance(type, AnyFloat):
        return FloatAttr(float(number), type)
    if isinstance(type, IntegerType | IndexType):
        return cast(Attribute, IntegerAttr(int(number), cast(IntegerType | IndexType, type)))
    raise TypeError(f"no constant of type {type}")


def dense_attr(type: VectorType[Attribute], numbers: Sequence[float]) -> Attribute:
    """A vector constant, its elements in row-major order, or one number for all of them."""
    return DenseIntOrFPElementsAttr.from_list(type, numbers)  # pyright: ignore


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
        found = self._indices.get(value)
        if found is None or _is_erased(found):
            self._indices[value] = found = self.of(number_attr(value, INDEX), INDEX)
            found.name_hint = found.name_hint or f"c{value}".replace("-", "m")
        return found

    def of(self, attr: Attribute, type: Attribute) -> SSAValue:
        """The constant of an attribute."""
        found = self._known.get(attr)
        if found is None or _is_erased(found):
            start = IRBuilder(InsertPoint.at_start(self._block), self._location)
            found = self._known[attr] = start.value(_constant_op(attr, type))
        return found


def _is_erased(value: SSAValue) -> bool:
    """Whether the op of a value is no longer in a block."""
    return value.owner.parent is None


def _constant_op(attr: Attribute, type: Attribute) -> Operation:
    return arith.ConstantOp.create(result_types=[type], properties={"value": attr})


class IRBuilder(Builder):
    """
    Inserts new ops at a point: the one way to do so outside of `rewriter.replace`.

    *Insertion* is before an op or at the end of a block; into a rewriter (`on`), whose listeners then know of
    the op; or into a list (`ops`) for a pattern that returns them. `inside` builds in a nested block and
    knows all that this builder knows; what it makes itself is not known outside.
    *Location*: a new op, with the ops inside it, gets the builder's unless it has one.
    *Constants* are made once: with `Constants` at the start of the function, where they dominate every use;
    else at their first use in this builder's scope.
    *Index algebra* is on numbers and `index` values (`Index`). Numbers fold, as do x + 0, x - 0, x * 1 and
    x / 1. Sums (`REMEMBERED`) and the extents of dimension expressions (`extent`, from `symbols`) are made
    once in a scope, so the insertion point only moves down in a block; erased ones are made again.

    Levels have thin views, without insertion, location or folding of their own: `LoopNest` has a builder for
    each loop, `Lanes` Python's operators, `VectorValues` a vector for each scalar; `Code` makes ops of `llvm`
    for those of `arith`. Its base is xDSL's `Builder`, so that functions accept either a rewriter or an
    `IRBuilder`; it has an `insert` of its own, since xDSL's sets no location and takes longer.
    """

    REMEMBERED: ClassVar[type[Operation]] = arith.AddiOp
    """
    The op whose results are made once in a scope. Levels 2 and 3 share sums of offsets, level 4 products with
    strides; shared sums there would let LLVM choose other addressing modes.
    """

    def __init__(
        self,
        point: InsertPoint,
        location: LocationAttr | None = None,
        *,
        constants: Constants | None = None,
        symbols: Mapping[str, SSAValue] | None = None,
        ops: list[Operation] | None = None,
    ):
        # The constructor of the data class `Builder` takes twice as long as all of this; its listeners are
        # never called, since `insert` is another.
        self.insertion_point, self._name_hint = point, None
        self.operation_insertion_handler, self.block_creation_handler = [], []
        self.location = location
        self.constants = constants
        self.symbols: Mapping[str, SSAValue] = {} if symbols is None else symbols
        self._ops = ops
        self._known: dict[Hashable, SSAValue] = {}
        self._through: Callable[[Operation, InsertPoint], object] | None = None

    @classmethod
    def before(
        cls, op: Operation, constants: Constants | None = None, symbols: Mapping[str, SSAValue] | None = None
    ) -> Self:
        """A builder before an op, with its location."""
        return cls(InsertPoint.before(op), op.location, constants=constants, symbols=symbols)

    @classmethod
    def after(cls, op: Operation) -> Self:
        """A builder after an op, with its location."""
        return cls(InsertPoint.after(op), op.location)

    @classmethod
    def at_end(cls, block: Block, location: LocationAttr | None = None) -> Self:
        """A builder at the end of a block."""
        return cls(InsertPoint.at_end(block), location)

    @classmethod
    def on(
        cls,
        rewriter: Builder,
        at: InsertPoint | None = None,
        *,
        constants: Constants | None = None,
        symbols: Mapping[str, SSAValue] | None = None,
    ) -> Self:
        """A builder at a point, by default the rewriter's; the rewriter inserts and locates the ops."""
        point = rewriter.insertion_point if at is None else at
        builder = cls(point, constants=constants, symbols=symbols)
        builder._through = rewriter.insert
        return builder

    def inside(self, block: Block) -> Self:
        """A builder at the end of a nested block, which knows the values made so far."""
        inner = type(self)(
            InsertPoint.at_end(block), self.location, constants=self.constants, symbols=self.symbols
        )
        inner._known = dict(self._known)
        return inner

    def move_before(self, op: Operation) -> None:
        """Continue before an op further down in the same block, with its location."""
        self.insertion_point = InsertPoint.before(op)
        self.location = op.location

    def insert(self, op: InsertOpInvT, insertion_point: InsertPoint | None = None) -> InsertOpInvT:
        """Insert an op, or several in order; returns its argument."""
        point = self.insertion_point if insertion_point is None else insertion_point
        location, block, following = self.location, point.block, point.insert_before
        for new in (op,) if isinstance(op, Operation) else op:
            if location is not None:
                if new.regions:
                    locate_built(new, location)
                elif type(new.location) is UnknownLoc:
                    new.location = location
            if self._ops is not None:
                self._ops.append(new)
            elif self._through is not None:
                self._through(new, point)
            elif following is None:
                block.add_op(new)
            else:
                block.insert_op_before(new, following)
        return op

    def value(self, op: Operation) -> SSAValue:
        """Insert an op; returns its first result."""
        return self.insert(op).results[0]

    def constant(self, attr: Attribute, type: Attribute) -> SSAValue:
        """The constant of an attribute."""
        if self.constants is not None:
            return self.constants.of(attr, type)
        return self.once((attr, type), lambda: self.value(_constant_op(attr, type)))

    def number(self, number: float, type: Attribute) -> SSAValue:
        """A number as a constant of a scalar type, or in every lane of a vector."""
        return self.constant(number_attr(number, type), type)

    def once(self, key: Hashable, make: Callable[[], SSAValue]) -> SSAValue:
        """The value that this scope remembers for a key; made at first, and again after it was erased."""
        found = self._known.get(key)
        if found is None or (self._ops is None and _is_erased(found)):
            found = self._known[key] = make()
        return found

    def materialize(self, index: Index) -> SSAValue:
        """The value of an index."""
        if not isinstance(index, int):
            return index
        return self.number(index, INDEX) if self.constants is None else self.constants.index(index)

    def plus(self, a: Index, b: Index) -> Index:
        """a + b."""
        if isinstance(a, int):
            if isinstance(b, int):
                return _wrapped(a + b)
            a, b = b, a
        return a if b == 0 else self._once(arith.AddiOp, a, b)

    def minus(self, a: Index, b: Index) -> Index:
        """a - b."""
        if isinstance(a, int) and isinstance(b, int):
            return _wrapped(a - b)
        return a if b == 0 else self.binary(arith.SubiOp, a, b)

    def times(self, a: Index, b: Index) -> Index:
        """a * b."""
        if isinstance(a, int):
            if isinstance(b, int):
                return _wrapped(a * b)
            a, b = b, a
        return a if b == 1 else self._once(arith.MuliOp, a, b)

    def floordiv(self, a: Index, b: Index) -> Index:
        """⌊a / b⌋ for any signs."""
        if isinstance(a, int) and isinstance(b, int) and b:
            return _wrapped(a // b)
        return a if b == 1 else self.binary(arith.FloorDivSIOp, a, b)

    def ceildiv(self, a: Index, b: Index) -> Index:
        """⌈a / b⌉ for any signs."""
        if isinstance(a, int) and isinstance(b, int) and b:
            return _wrapped(-(-a // b))
        return a if b == 1 else self.binary(arith.CeilDivSIOp, a, b)

    def modulo(self, a: Index, b: Index) -> Index:
        """a - b * ⌊a / b⌋, between 0 and b."""
        return self.minus(a, self.times(self.floordiv(a, b), b))

    def quotient(self, a: Index, b: int) -> Index:
        """⌊a / b⌋ for a that is not negative, by one instruction."""
        if isinstance(a, int) and a >= 0 and b > 0:
            return a // b
        return a if b == 1 else self.binary(arith.DivUIOp, a, b)

    def remainder(self, a: Index, b: int) -> Index:
        """The rest of a / b for a that is not negative."""
        if isinstance(a, int) and a >= 0 and b > 0:
            return a % b
        return 0 if b == 1 else self.binary(arith.RemUIOp, a, b)

    def rounded_down(self, a: Index, step: int) -> Index:
        """The largest multiple of `step` up to `a`, which must not be negative."""
        return a if step == 1 else self.minus(a, self.remainder(a, step))

    def least(self, a: Index, b: Index) -> Index:
        """The lesser of two indices."""
        return min(a, b) if isinstance(a, int) and isinstance(b, int) else self.binary(arith.MinSIOp, a, b)

    def most(self, a: Index, b: Index) -> Index:
        """The greater of two indices."""
        return max(a, b) if isinstance(a, int) and isinstance(b, int) else self.binary(arith.MaxSIOp, a, b)

    def size(self, dim: Dim | int) -> Index:
        """A dimension, as a number if it is static. Raises: KeyError for a symbol without a value here."""
        dim = Dim.of(dim)
        if dim.is_static:
            return dim.value
        algebra: Algebra[Index] = Algebra(
            number=lambda number: number,
            add=self.plus,
            multiply=self.times,
            floordiv=self.floordiv,
            ceildiv=self.ceildiv,
            minimum=self.least,
            maximum=self.most,
        )
        return self.once(dim, lambda: self.materialize(dim.build(self.symbols.__getitem__, algebra)))

    def extent(self, dim: Dim | int) -> SSAValue:
        """The value of a dimension. Raises: KeyError for a symbol without a value here."""
        return self.materialize(self.size(dim))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """A comparison of floats, such as `ogt`, or of integers, such as `sgt`; of vectors lane by lane."""
        type: Attribute = a.type
        element = cast("VectorType[Attribute]", type).element_type if isinstance(type, VectorType) else type
        is_float = isinstance(element, AnyFloat)
        names = arith.CMPF_COMPARISON_OPERATIONS if is_float else arith.CMPI_COMPARISON_OPERATIONS
        properties: dict[str, Attribute] = {"predicate": IntegerAttr(names.index(predicate), i64)}
        if is_float:
            properties["fastmath"] = arith.FastMathFlagsAttr("none")
        op_type = vector_form(arith.CmpfOp if is_float else arith.CmpiOp)
        result = like(a.type, i1)
        return self.value(op_type.create(operands=[a, b], result_types=[result], properties=properties))

    def empty(self, element: Attribute, sizes: Sequence[Index]) -> SSAValue:
        """A tensor whose elements are not set yet."""
        dynamic = [size for size in sizes if not isinstance(size, int)]
        return self.value(
            tensor.EmptyOp.create(operands=dynamic, result_types=[TensorType(element, static_shape(sizes))])
        )

    def loop(
        self,
        start: Index,
        stop: Index,
        step: int,
        carried: Sequence[SSAValue],
        body: Callable[[Self, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
        *,
        parallel: bool = False,
    ) -> Sequence[SSAValue]:
        """An `scf.for` that carries values; `body` gets a builder inside, the loop's index and the values."""
        types = [value.type for value in carried]
        block = Block(arg_types=[INDEX, *types])
        inside = self.inside(block)
        results = body(inside, block.args[0], block.args[1:])
        inside.insert(scf.YieldOp.create(operands=results))
        bounds = [self.materialize(bound) for bound in (start, stop, step)]
        loop = scf.ForOp.create(operands=[*bounds, *carried], result_types=types, regions=[Region(block)])
        if parallel:
            from stepwell.dialects.sched import PARALLEL  # level 1 does without the imports of `sched`

            loop.attributes[PARALLEL] = UnitAttr()
        return self.insert(loop).results

    def fold(
        self,
        start: Index,
        stop: Index,
        step: int,
        value: SSAValue,
        body: Callable[[Self, SSAValue, SSAValue], SSAValue],
        *,
        parallel: bool = False,
    ) -> SSAValue:
        """A `loop` that carries one value."""

        def carried(emit: Self, index: SSAValue, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [body(emit, index, values[0])]

        return self.loop(start, stop, step, [value], carried, parallel=parallel)[0]

    def _once(self, op_type: type[Operation], a: Index, b: Index) -> SSAValue:
        """The result of a binary op, remembered if it is of that kind."""
        if op_type is not self.REMEMBERED:
            return self.binary(op_type, a, b)
        return self.once((op_type, a, b), lambda: self.binary(op_type, a, b))

    def binary(self, op_type: type[Operation], a: Index, b: Index) -> SSAValue:
        """A binary op of `arith` on indices, unfolded; a view of another level makes its own op for it."""
        operands = [self.materialize(a), self.materialize(b)]
        flags = _NO_FLAGS if issubclass(op_type, arith.SignlessIntegerBinaryOperationWithOverflow) else {}
        return self.value(op_type.create(operands=operands, result_types=[INDEX], properties=dict(flags)))


def _wrapped(number: int) -> int:
    """A number modulo 2^64, as the machine has it."""
    return number if -(1 << 63) <= number < 1 << 63 else (number + (1 << 63)) % (1 << 64) - (1 << 63)


def static_shape(sizes: Sequence[Index]) -> list[int]:
    """The shape of a type with these sizes."""
    return [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes]
