"""`graph.expression`: tensors by a formula for one element, on scalars and named axes, and reductions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IndexType, StringAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import Kind
from stepwell.dialects.graph.expression_reads import kind_of_expression
from stepwell.dialects.graph.expression_text import parse_expression, print_expression
from stepwell.dialects.graph.formula import FormulaOp, argument_type, bindings_of, dims_in, sizes_attr
from stepwell.dialects.graph.nest import NestOp
from stepwell.dialects.graph.structure import YieldOp
from stepwell.dialects.types import dims_of, signless, tensor_of, tensor_type
from stepwell.runtime.dims import Dim

_BODY_DIALECTS = ("arith", "math")
# By name: importing the dialects would take a tenth of the time of a first answer.
_BODY_OPS = ("graph.yield", "scf.if", "scf.yield", "tensor.dim", "tensor.extract")


@irdl_op_definition
class ExpressionOp(FormulaOp):
    """
    Tensors whose elements a formula gives: `body` computes them for one point of the axes, from elements of
    the inputs at any indices. With axes to `reduce`, `combine` joins the values along them, starting from
    `identity`.

    In the regions tensors and numbers have their level-2 types. Sizes have names of the op's own, bound by
    the shapes of the inputs, so that the formula is the same for all shapes. The fusion kind follows from the
    indices of the reads.

    ```mlir
    %c = graph.expression "matmul" (%i < "m", %j < "n") reduce (%r < "k")
        reads (%a = %x ["m", "k"], %b = %w ["k", "n"])
        : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32> {
      %0 = tensor.extract %a[%i, %r] : tensor<?x?xf32>
      %1 = tensor.extract %b[%r, %j] : tensor<?x?xf32>
      %2 = arith.mulf %0, %1 : f32
      graph.yield %2 : f32
    } combine [0.000000e+00 : f32] {
    ^bb0(%sum : f32, %value : f32):
      %3 = arith.addf %sum, %value : f32
      graph.yield %3 : f32
    }
    ```
    Constraints:
      (C1) `sizes` has the shape of each input, and each name in them is the whole of some dimension.
      (C2) shapes that are given by equal sizes are equal, where both are known.
      (C3) the body's arguments are an index an axis, then the inputs as level-2 tensors.
      (C4) the body ends in a `graph.yield` of a number a result, of its element type at level 2.
      (C5) both regions have ops of `arith` and `math`, `tensor.extract`, `tensor.dim` and `scf.if` alone.
      (C6) there are `reduce` axes if and only if there is an `identity`, a number a result, and `combine`
           maps so many numbers and so many values to numbers.
    """

    name = "graph.expression"
    KIND: ClassVar[Kind] = Kind.OPAQUE

    traits = traits_def(Pure(), IsolatedFromAbove())

    def __init__(
        self,
        formula: str,
        inputs: Sequence[SSAValue],
        sizes: Sequence[Sequence[Dim]],
        axes: Sequence[Dim],
        elements: Sequence[Attribute],
        body: Region,
        *,
        reduce: Sequence[Dim] = (),
        identity: Sequence[Attribute] = (),
        combine: Region | None = None,
    ):
        """Args: `elements` are the element types of the results. Raises: VerifyException."""
        super().__init__(
            operands=[inputs],
            result_types=[[tensor_type(element, [0] * len(axes)) for element in elements]],
            properties={
                "formula": StringAttr(formula),
                "sizes": ArrayAttr([sizes_attr(dims) for dims in sizes]),
                "axes": sizes_attr(axes),
                "reduce": sizes_attr(reduce),
                "identity": ArrayAttr(identity),
                "elements": ArrayAttr(elements),
            },
            regions=[body, Region() if combine is None else combine],
        )
        self.set_result_types()

    @property
    def fusion_kind(self) -> Kind:
        return kind_of_expression(self)

    def bindings(self) -> Mapping[str, Dim]:
        """The dimensions of inputs by the op's own names: known ones are preferred."""
        return bindings_of(self.inputs, self.sizes)

    def infer(self) -> Sequence[Attribute]:
        bound = self.bindings()
        dims = [dim.substitute(bound) for dim in self.axis_dims]
        return [tensor_type(element, dims) for element in self.elements]

    def check(self) -> None:
        self._check_sizes()
        self._check_body()
        self._check_combine()

    def _check_sizes(self) -> None:
        if len(self.sizes) != len(self.inputs):  # (C1)
            raise VerifyException(f"sizes needs the shapes of {len(self.inputs)} inputs")
        for value, sizes in zip(self.inputs, self.sizes, strict=True):
            if len(sizes) != len(dims_of(value.type)):
                raise VerifyException(f"the sizes of an input of type {value.type} are {len(sizes)}")
        bound = self.bindings()
        used = [d for a in (*self.sizes, self.axes, self.reduce) for d in dims_in(a)]
        if free := {name for dim in used for name in dim.symbols()} - bound.keys():
            raise VerifyException(f"no dimension of an input is the size {min(free)}")
        for value, sizes in zip(self.inputs, self.sizes, strict=True):
            for found, size in zip(dims_of(value.type), dims_in(sizes), strict=True):
                wanted = size.substitute(bound)
                if not (found.is_unknown or wanted.is_unknown or found == wanted):  # (C2)
                    raise VerifyException(f"the size {size} is {wanted}, and an input has {found} there")

    def _check_body(self) -> None:
        if any(index.type != IndexType() for index in self.indices):  # (C3)
            raise VerifyException("the body's first arguments must be an index an axis")
        if len(self.tensors) != len(self.inputs):
            raise VerifyException(f"the body needs an argument for each of {len(self.inputs)} inputs")
        for argument, value, sizes in zip(self.tensors, self.inputs, self.sizes, strict=True):
            if argument.type != (wanted := argument_type(tensor_of(value), sizes)):
                raise VerifyException(f"the body's argument must be {wanted}, found {argument.type}")
        _expect_scalars(self.body, self.elements)  # (C4) (C5)

    def _check_combine(self) -> None:
        count = len(self.elements) if len(self.reduce) else 0  # (C6)
        if len(self.identity) != count or bool(self.combine.blocks) != bool(count):
            raise VerifyException(
                f"{len(self.reduce)} axes to reduce need an identity of {count} numbers"
                f" and {'a' if count else 'no'} region to combine them, found {len(self.identity)} numbers"
            )
        if not count:
            return
        if len(self.combine.block.args) != 2 * count:
            raise VerifyException(
                f"combine needs {2 * count} arguments, found {len(self.combine.block.args)}"
            )
        _expect_scalars(self.combine, self.elements)

    @classmethod
    def parse(cls, parser: Parser) -> ExpressionOp:
        return parse_expression(parser, cls)

    def print(self, printer: Printer) -> None:
        print_expression(self, printer)


def outside_formulas(op: Operation) -> Iterator[Operation]:
    """An op and the ops inside, except for the bodies of formulas, which are of level 2 on every level."""
    yield op
    for region in () if isinstance(op, ExpressionOp | NestOp) else op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from outside_formulas(inner)


def _expect_scalars(region: Region, elements: Iterable[Attribute]) -> None:
    """Require a region to compute a number for each element type. Raises: VerifyException."""
    last = region.block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException(f"the region must end in graph.yield, found {last.name if last else 'none'}")
    found = last.operand_types
    wanted = list(elements)
    if len(found) != len(wanted) or any(signless(a) != b for a, b in zip(wanted, found, strict=True)):
        raise VerifyException(f"expected numbers of {_listed(wanted)}, found {_listed(found)}")
    for op in region.walk():
        if not (op.name in _BODY_OPS or op.name.partition(".")[0] in _BODY_DIALECTS):
            raise VerifyException(f"a formula has no {op.name}: it computes numbers from numbers")


def _listed(types: Iterable[Attribute]) -> str:
    return ", ".join(map(str, types)) or "nothing"
