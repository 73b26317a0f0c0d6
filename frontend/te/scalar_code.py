"""The code of an expression: ops of `arith` and `math` on scalars, reads of elements, index arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, math, scf, tensor
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.linalg_builder import activation
from stepwell.dialects.linalg_builder.scalars import Scalars, signless
from stepwell.dialects.sched import ACCESS
from stepwell.dialects.types import element_of, int_attr
from stepwell.frontend.te.bounds import is_inside
from stepwell.frontend.te.expressions import Axis, Call, Dtype, Expr, Number, Read, Size, is_index, walk
from stepwell.frontend.te.integers import is_nonnegative
from stepwell.frontend.te.named_ops import NamedCall, named_op
from stepwell.frontend.te.tensors import Tensor
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import InternalError
from stepwell.runtime.interface import dtype_from_name


def element_named(dtype: Dtype) -> Attribute:
    """The element type of a name."""
    return element_of(dtype_from_name(dtype))


COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def _compare(predicate: str) -> Callable[[Scalars, SSAValue, SSAValue], SSAValue]:
    return lambda scalars, a, b: scalars.compare(predicate, a, b)


def _floor_quotient(scalars: Scalars, a: SSAValue, b: SSAValue) -> SSAValue:
    """⌊a / b⌋ of integers, 0 for b = 0: without the remainder of b's sign, the division is exact."""
    rest = scalars.remainder(a, b, floor=True)
    return scalars.divide(scalars.subtract(a, rest), b)


_MATH: Mapping[str, Callable[[SSAValue], Operation]] = {
    **{"exp": math.ExpOp, "expm1": math.ExpM1Op, "log": math.LogOp, "log1p": math.Log1pOp},
    **{"sqrt": math.SqrtOp, "rsqrt": math.RsqrtOp, "erf": math.ErfOp, "tanh": math.TanhOp},
    **{"sin": math.SinOp, "cos": math.CosOp, "tan": math.TanOp, "sinh": math.SinhOp, "cosh": math.CoshOp},
    **{"asin": math.AsinOp, "acos": math.AcosOp, "atan": math.AtanOp},
    **{"asinh": math.AsinhOp, "acosh": math.AcoshOp, "atanh": math.AtanhOp},
    **{"floor": math.FloorOp, "ceil": math.CeilOp, "trunc": math.TruncOp, "round": math.RoundEvenOp},
}
_UNARY: Mapping[str, Callable[[Scalars, SSAValue], SSAValue]] = {
    "negate": Scalars.negate,
    "absolute": Scalars.absolute,
    "isnan": Scalars.is_nan,
    "sigmoid": activation.sigmoid,
    "not_": lambda scalars, a: arith.XOrIOp(a, scalars.constant(1)).result,
}
_BINARY: Mapping[str, Callable[[Scalars, SSAValue, SSAValue], SSAValue]] = {
    "add": Scalars.add,
    "subtract": Scalars.subtract,
    "multiply": Scalars.multiply,
    "divide": Scalars.divide,
    "minimum": Scalars.minimum,
    "maximum": Scalars.maximum,
    "power": lambda scalars, a, b: math.PowFOp(a, b).result,
    "floordiv": lambda scalars, a, b: _floor_quotient(scalars, a, b),
    "floormod": lambda scalars, a, b: scalars.remainder(a, b, floor=True),
    "truncdiv": Scalars.divide,
    "truncmod": lambda scalars, a, b: scalars.remainder(a, b, floor=False),
    "all": lambda scalars, a, b: arith.AndIOp(a, b).result,
    "any": lambda scalars, a, b: arith.OrIOp(a, b).result,
    **{name: _compare(name) for name in COMPARISONS},
}


class ScalarCode:
    """
    Emits expressions at the end of a block, each once.

    Args: `axes` are the indices of axes, `tensors` the body's arguments for tensors, `bound` the expressions
    whose values are known already; `positive` are the symbols that are at least 1; `sizes` are the values of
    symbols, those without one are read off tensors; `is_guarded` leads indices inside that may be outside;
    `number_of` leaves them, and gives the access a number for `check-bounds`.
    """

    def __init__(
        self,
        block: Block,
        axes: Mapping[Axis, SSAValue],
        tensors: Mapping[Tensor, SSAValue],
        bound: Mapping[Expr, SSAValue] | None = None,
        positive: Mapping[str, Dim] | None = None,
        *,
        sizes: Mapping[str, SSAValue] | None = None,
        is_guarded: bool = False,
        number_of: Callable[[Read], int] | None = None,
    ):
        self._number_of = number_of
        self._block, self._axes, self._tensors = block, axes, tensors
        self._values: dict[Expr, SSAValue] = dict(bound or {})
        self._indices: dict[Expr, SSAValue] = {}
        self._positive = positive or {}
        self._sizes = sizes or {}
        self._is_guarded = is_guarded
        self._emit = IRBuilder(InsertPoint.at_end(block), symbols=_LazySizes(self))

    def stored(self, expr: Expr) -> SSAValue:
        """The value of an expression in the storage type of its element type."""
        value = self.value(expr)
        with ImplicitBuilder(self._block):
            return Scalars(element_named(expr.dtype)).narrow(value)

    def value(self, expr: Expr) -> SSAValue:
        """The value of an expression in the type that its element type computes in."""
        if (known := self._values.get(expr)) is None:
            known = self._values[expr] = self._made(expr)
        return known

    def index(self, expr: Expr) -> SSAValue:
        """The value of an integer expression as an index."""
        if (known := self._indices.get(expr)) is None:
            known = self._indices[expr] = self._made_index(expr)
        return known

    def _made(self, expr: Expr) -> SSAValue:
        scalars = Scalars(element_named(expr.dtype))
        match expr:
            case Number(value=number):
                return self._here(lambda: scalars.constant(number))
            case Read():
                element = self._read(expr)
                return self._here(lambda: scalars.widen(element))
            case Axis() | Size():
                index = self.index(expr)
                return self._here(lambda: scalars.from_index(index))
            case Call(op="if_then_else"):
                return self._branches(expr)
            case Call():
                return self._call(expr, scalars)
            case _:
                raise InternalError(None, f"expression {expr}")

    def _call(self, expr: Call, scalars: Scalars) -> SSAValue:
        if expr.op in COMPARISONS and all(map(is_index, expr.parts)):
            left, right = map(self.index, expr.parts)
            return self._here(lambda: Scalars(IndexType()).compare(expr.op, left, right))
        values = [self.value(part) for part in expr.parts]
        own = Scalars(element_named(expr.parts[0].dtype))
        if isinstance(expr, NamedCall):
            return self._here(lambda: named_op(expr.name, values).results[0])
        if expr.op == "cast":
            return self._here(lambda: own.convert(values[0], scalars))
        if expr.op == "select":
            return self._here(lambda: scalars.select(*values))
        if (function := _MATH.get(expr.op)) is not None:
            return self._here(lambda: function(values[0]).results[0])
        if (unary := _UNARY.get(expr.op)) is not None:
            return self._here(lambda: unary(own, values[0]))
        return self._here(lambda: _BINARY[expr.op](own, *values))

    def _here(self, emit: Callable[[], SSAValue]) -> SSAValue:
        with ImplicitBuilder(self._block):
            return emit()

    def _branches(self, expr: Call) -> SSAValue:
        """The value of the side that a condition chooses; indices of the other one are led inside."""
        condition = self.value(expr.parts[0])
        was_guarded, self._is_guarded = self._is_guarded, True
        scalars = Scalars(element_named(expr.dtype))
        reads = [read for side in expr.parts[1:] for read in _reads(side)]
        if self._number_of is None and all(map(self._has_elements, reads)):
            sides = [self.value(side) for side in expr.parts[1:]]
            made = self._here(lambda: scalars.select(condition, *sides))
        else:
            regions = [self._nested(side) for side in expr.parts[1:]]
            made = self._here(lambda: scf.IfOp(condition, [scalars.type], regions[0], regions[1]).results[0])
        self._is_guarded = was_guarded
        return made

    def _nested(self, expr: Expr) -> Region:
        """A region that yields the value of an expression."""
        inside = ScalarCode(
            *(Block(), self._axes, self._tensors, self._values, self._positive),
            sizes=self._sizes,
            is_guarded=True,
            number_of=self._number_of,
        )
        inside._indices = dict(self._indices)
        inside._block.add_op(scf.YieldOp(inside.value(expr)))
        return Region(inside._block)

    def _has_elements(self, read: Read) -> bool:
        """Whether an index can be led inside: the extents of dimensions that it may leave are positive."""
        return all(
            is_nonnegative(dim - 1, self._positive) or is_inside(read, axis, self._positive)
            for axis, dim in enumerate(read.tensor.dims)
        )

    def _read(self, read: Read) -> SSAValue:
        """The element of a tensor, at the nearest index inside where the read says so."""
        argument = self._tensors[read.tensor]
        indices = [self.index(index) for index in read.indices]
        loose = self.loose_axes(read) if read.is_clamped or self._is_guarded else []
        attributes: dict[str, Attribute] = {}
        if self._number_of is None:
            for axis in loose:
                indices[axis] = self._clamped(indices[axis], read.tensor, axis)
        elif loose:
            attributes[ACCESS] = int_attr(self._number_of(read))
        op = tensor.ExtractOp.create(
            operands=[argument, *indices],
            result_types=[signless(element_named(read.dtype))],
            attributes=attributes,
        )
        self._block.add_op(op)
        return op.result

    def loose_axes(self, read: Read) -> list[int]:
        """The dimensions along which an index is not provably inside."""
        return [axis for axis in range(read.tensor.ndim) if not is_inside(read, axis, self._positive)]

    def _clamped(self, index: SSAValue, source: Tensor, axis: int) -> SSAValue:
        last = self._emit.minus(self._emit.size(source.dims[axis]), 1)
        inside = self._emit.least(index, last)
        return self._emit.materialize(self._emit.most(inside, 0))

    def _made_index(self, expr: Expr) -> SSAValue:
        emit = self._emit
        match expr:
            case Axis():
                low = 0 if expr.low is None else emit.size(expr.low)
                return emit.materialize(emit.plus(self._axes[expr], low))
            case Size():
                return emit.extent(expr.dim)
            case Number():
                return emit.materialize(int(expr.value))
            case Call() if is_index(expr):
                left, right = (self.index(part) for part in expr.parts)
                return emit.materialize(_INDEX_OPERATIONS[expr.op](emit, left, right))
            case _:
                value = self.value(expr)
                wide = self._here(lambda: Scalars(element_named(expr.dtype)).convert(value, Scalars(i64)))
                return self._here(lambda: arith.IndexCastOp(wide, IndexType()).result)

    def size_of_input(self, name: str) -> SSAValue:
        """The value of a symbol: the extent of a dimension that it is."""
        if (known := self._sizes.get(name)) is not None:
            return known
        for source, argument in self._tensors.items():
            for axis, dim in enumerate(source.dims):
                if str(dim) == name:
                    return self._emit.value(tensor.DimOp(argument, self._emit.materialize(axis)))
        raise InternalError(None, f"no input has the size {name}")


def _reads(expr: Expr) -> Iterator[Read]:
    return (part for part in walk(expr) if isinstance(part, Read))


class _LazySizes(Mapping[str, SSAValue]):
    """The values of symbols, emitted when they are asked for."""

    def __init__(self, code: ScalarCode):
        self._code = code

    def __getitem__(self, name: str) -> SSAValue:
        return self._code.size_of_input(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


_INDEX_OPERATIONS: Mapping[str, Callable[[IRBuilder, SSAValue, SSAValue], int | SSAValue]] = {
    "add": IRBuilder.plus,
    "subtract": IRBuilder.minus,
    "multiply": IRBuilder.times,
    "floordiv": IRBuilder.floordiv,
    "floormod": IRBuilder.modulo,
    "minimum": IRBuilder.least,
    "maximum": IRBuilder.most,
}
