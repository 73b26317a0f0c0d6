"""`graph.nest`: tensors computed by ops of level 2, such as loops that carry tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IndexType, StringAttr
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, region_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.formula import Sizes, argument_type, bindings_of, dims_in, sizes_attr
from stepwell.dialects.graph.structure import YieldOp
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim

_BODY_DIALECTS = ("arith", "math", "scf", "tensor", "linalg", "vector")


@irdl_op_definition
class NestOp(GraphOp):
    """
    Tensors by ops of level 2 on the inputs: loops that carry tensors, slices, structured ops.

    In the body tensors have their level-2 types. Sizes have names of the op's own, bound by the shapes of the
    inputs; the body gets each name in `extents` as an index, after the inputs. A nest is a kernel of its own.

    ```mlir
    %y = graph.nest "last" (%x) reads [["n", "4"]] extents ["n"] writes [["1", "4"]] of [f32]
      : (tensor<?x4xf32, #graph.dims<["N", 4]>>) -> tensor<1x4xf32> {
    ^bb0(%a: tensor<?x4xf32>, %n: index):
      %one = arith.constant 1 : index
      %last = arith.subi %n, %one : index
      %r = tensor.extract_slice %a[%last, 0] [1, 4] [1, 1] : tensor<?x4xf32> to tensor<1x4xf32>
      graph.yield %r : tensor<1x4xf32>
    }
    ```
    Constraints:
      (C1) `sizes` has the shape of each input, and `shapes` and `elements` those of each result; names in
           `shapes` and `extents` are the whole of some input's dimension.
      (C2) the body's arguments are the inputs as level-2 tensors, then an index an extent.
      (C3) the body ends in a `graph.yield` of a level-2 tensor a result.
      (C4) the body has ops of `arith`, `math`, `scf`, `tensor`, `linalg` and `vector` alone.
    """

    name = "graph.nest"
    KIND: ClassVar[Kind] = Kind.OPAQUE

    inputs = var_operand_def()
    outputs = var_result_def()
    formula = prop_def(StringAttr)
    sizes = prop_def(ArrayAttr[Sizes])
    extents = prop_def(ArrayAttr[StringAttr])
    shapes = prop_def(ArrayAttr[Sizes])
    elements = prop_def(ArrayAttr[Attribute])
    body = region_def("single_block")

    traits = traits_def(Pure(), IsolatedFromAbove())
    assembly_format = (
        "$formula `(` $inputs `)` `reads` $sizes `extents` $extents `writes` $shapes `of` $elements"
        " attr-dict `:` functional-type($inputs, $outputs) $body"
    )

    def __init__(
        self,
        formula: str,
        inputs: Sequence[SSAValue],
        sizes: Sequence[Sequence[Dim]],
        extents: Sequence[str],
        results: Sequence[tuple[Attribute, Sequence[Dim]]],
        body: Region,
    ):
        """Args: `results` are element types and shapes. Raises: VerifyException."""
        super().__init__(
            operands=[inputs],
            result_types=[[tensor_type(element, [0] * len(dims)) for element, dims in results]],
            properties={
                "formula": StringAttr(formula),
                "sizes": ArrayAttr([sizes_attr(dims) for dims in sizes]),
                "extents": ArrayAttr([StringAttr(name) for name in extents]),
                "shapes": ArrayAttr([sizes_attr(dims) for _, dims in results]),
                "elements": ArrayAttr([element for element, _ in results]),
            },
            regions=[body],
        )
        self.set_result_types()

    def bindings(self) -> Mapping[str, Dim]:
        """The dimensions of inputs by the op's own names: known ones are preferred."""
        return bindings_of(self.inputs, self.sizes)

    @property
    def names(self) -> list[str]:
        """The sizes that the body gets as indices."""
        return [name.data for name in self.extents]

    def infer(self) -> Sequence[Attribute]:
        bound = self.bindings()
        pairs = zip(self.elements, self.shapes, strict=True)
        return [tensor_type(e, [dim.substitute(bound) for dim in dims_in(sizes)]) for e, sizes in pairs]

    def check(self) -> None:
        counts = len(self.sizes), len(self.shapes), len(self.elements)
        if counts != (len(self.inputs), len(self.outputs), len(self.outputs)):  # (C1)
            raise VerifyException(f"{len(self.inputs)} inputs and {len(self.outputs)} results need shapes")
        for value, sizes in zip(self.inputs, self.sizes, strict=True):
            if len(sizes) != len(dims_of(value.type)):
                raise VerifyException(f"the sizes of an input of type {value.type} are {len(sizes)}")
        used = {name for sizes in (*self.sizes, *self.shapes) for d in dims_in(sizes) for name in d.symbols()}
        if free := (used | set(self.names)) - self.bindings().keys():
            raise VerifyException(f"no dimension of an input is the size {min(free)}")
        wanted: list[Attribute] = [
            argument_type(tensor_of(value), sizes)
            for value, sizes in zip(self.inputs, self.sizes, strict=True)
        ]
        wanted += [IndexType()] * len(self.names)
        found = list(self.body.block.arg_types)
        if found != wanted:  # (C2)
            raise VerifyException(f"the body's arguments must be {_listed(wanted)}, found {_listed(found)}")
        self._check_results()

    def _check_results(self) -> None:
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):  # (C3)
            raise VerifyException(f"the body ends in graph.yield, found {last.name if last else 'nothing'}")
        pairs = zip(self.elements, self.shapes, strict=True)
        wanted = [argument_type(tensor_type(e, dims_in(sizes)), sizes) for e, sizes in pairs]
        if list(last.operand_types) != wanted:
            raise VerifyException(f"the body yields {_listed(wanted)}, found {_listed(last.operand_types)}")
        for op in self.body.walk():
            if op is not last and op.name.partition(".")[0] not in _BODY_DIALECTS:  # (C4)
                raise VerifyException(f"the body of a nest has ops of level 2, found {op.name}")


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types)) or "nothing"
