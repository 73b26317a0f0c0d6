"""Recurrent layers at the graph level: one op for LSTM, GRU and the plain cell."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.relations import (
    Domain,
    expect_dims,
    expect_domain,
    expect_same_element,
    shape_text,
)
from stepwell.dialects.types import bool_attr, dims_of, int_attr, tensor_of, tensor_type
from stepwell.runtime.dims import Dim

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
"""Gates of each cell, in the order of the rows of `w` and `r`: i o f c; z r h; one."""
FUNCTIONS = {"lstm": 3, "gru": 2, "rnn": 1}
"""Activation functions of each cell and direction: f g h; f g; f."""
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
ACTIVATIONS = {
    "sigmoid": (0.0, 0.0),
    "tanh": (0.0, 0.0),
    "relu": (0.0, 0.0),
    "affine": (1.0, 0.0),
    "leaky_relu": (0.01, 0.0),
    "thresholded_relu": (1.0, 0.0),
    "scaled_tanh": (1.0, 1.0),
    "hard_sigmoid": (0.2, 0.5),
    "elu": (1.0, 0.0),
    "softsign": (0.0, 0.0),
    "softplus": (0.0, 0.0),
}
"""Activation functions with the defaults of their parameters alpha and beta."""
FALSE = bool_attr(False)


class RnnProperties(IRDLOperation, ABC):
    """The properties of recurrent layers, of levels 1 and 2."""

    cell = prop_def(StringAttr)
    direction = prop_def(StringAttr)
    activations = prop_def(ArrayAttr[StringAttr])
    alphas = prop_def(DenseArrayBase.constr(f32))
    betas = prop_def(DenseArrayBase.constr(f32))
    clip = opt_prop_def(FloatAttr.constr(f32))
    input_forget = prop_def(BoolAttr, default_value=FALSE)
    linear_before_reset = prop_def(BoolAttr, default_value=FALSE)
    packing = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))


@irdl_op_definition
class RnnOp(RnnProperties, GraphOp):
    """
    A recurrent layer over a time-major sequence: x [T, N, I] gives y [T, D, N, H] and the state [D, N, H].

    ```mlir
    %y, %h, %c = graph.rnn %x, %w, %r bias %b : tensor<1x32xf32> cell "lstm" direction "forward"
      activations ["sigmoid", "tanh", "tanh"] alphas [0.0, 0.0, 0.0] betas [0.0, 0.0, 0.0]
      : (tensor<5x2x8xf32>, tensor<1x16x8xf32>, tensor<1x16x4xf32>)
      -> tensor<5x1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>
    ```
    `w` is [D, G·H, I], `r` is [D, G·H, H], the bias [D, 2·G·H] (of w, then of r), the peepholes [D, 3·H]
    for the gates i, o, f. D is 2 for a bidirectional layer, whose second direction runs backwards and is
    stored in forward order. After a row's length `y` is 0 and the state stays. `clip` cuts what the
    activations of gates get. `packing = nr` says that the rows of the weights, which are the columns of a
    product, are stored as panels of nr, as kernels read them: `w` is [D, G·H/nr, I, nr], `r` is
    [D, G·H/nr, H, nr].
    Constraints:
      (C1) `cell` is lstm, gru or rnn; `direction` is forward, reverse or bidirectional.
      (C2) activations known, 3, 2 or 1 a direction by cell, with as many alphas and betas.
      (C3) elements are floats, of one type; the lengths are integers [N].
      (C4) the operands have the shapes above, nr divides H; c0 and peepholes occur with an lstm only.
      (C5) results y and h, for an lstm also c.
    Source: ONNX LSTM, GRU, RNN, opset 22.
    """

    name = "graph.rnn"
    KIND: ClassVar[Kind] = Kind.OPAQUE

    x = operand_def(AnyTensor)
    w = operand_def(AnyTensor)
    r = operand_def(AnyTensor)
    bias = opt_operand_def(AnyTensor)
    lengths = opt_operand_def(AnyTensor)
    h0 = opt_operand_def(AnyTensor)
    c0 = opt_operand_def(AnyTensor)
    peepholes = opt_operand_def(AnyTensor)
    outputs = var_result_def(AnyTensor)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())
    assembly_format = (
        "$x `,` $w `,` $r (`bias` $bias^ `:` type($bias))? (`lengths` $lengths^ `:` type($lengths))? "
        "(`h0` $h0^ `:` type($h0))? (`c0` $c0^ `:` type($c0))? "
        "(`peepholes` $peepholes^ `:` type($peepholes))? "
        "`cell` $cell `direction` $direction `activations` $activations `alphas` $alphas `betas` $betas "
        "(`clip` $clip^)? (`input_forget` $input_forget^)? (`linear_before_reset` $linear_before_reset^)? "
        "(`packing` $packing^)? "
        "attr-dict `:` `(` type($x) `,` type($w) `,` type($r) `)` `->` type($outputs)"
    )

    def __init__(
        self,
        x: SSAValue,
        w: SSAValue,
        r: SSAValue,
        *,
        cell: str,
        direction: str = "forward",
        activations: Sequence[str],
        alphas: Sequence[float],
        betas: Sequence[float],
        bias: SSAValue | None = None,
        lengths: SSAValue | None = None,
        h0: SSAValue | None = None,
        c0: SSAValue | None = None,
        peepholes: SSAValue | None = None,
        clip: float | None = None,
        input_forget: bool = False,
        linear_before_reset: bool = False,
        packing: int = 0,
    ):
        self.initialize(
            [x, w, r, bias, lengths, h0, c0, peepholes],
            {
                "cell": cell,
                "direction": direction,
                "activations": ArrayAttr([StringAttr(a) for a in activations]),
                "alphas": DenseArrayBase.from_list(f32, alphas),
                "betas": DenseArrayBase.from_list(f32, betas),
                "clip": None if clip is None else FloatAttr(clip, Float32Type()),
                "input_forget": input_forget,
                "linear_before_reset": linear_before_reset,
                "packing": packing,
            },
            result_types=[[x.type] * (3 if cell == "lstm" else 2)],
        )

    @property
    def directions(self) -> int:
        """D: 2 for a bidirectional layer, else 1."""
        return DIRECTIONS[self.direction.data]

    @property
    def hidden(self) -> Dim:
        """H: the size of the state."""
        return dims_of(self.r.type)[2]

    @property
    def panel(self) -> int:
        """Rows of a panel of packed weights; 0 when they are not packed."""
        return self.packing.value.data

    def check(self) -> None:
        for name, value, legal in (
            ("cell", self.cell, GATES),
            ("direction", self.direction, DIRECTIONS),
        ):  # (C1)
            if value.data not in legal:
                raise VerifyException(f'{name} must be one of {", ".join(legal)}, found "{value.data}"')
        self._check_activations()  # (C2)
        for value in (self.w, self.r, self.bias, self.h0, self.c0, self.peepholes):  # (C3)
            expect_domain(self.x, Domain.FLOAT)
            if value is not None:
                expect_same_element(self.x, value)
        if self.lengths is not None:
            expect_domain(self.lengths, Domain.INTEGER, "lengths")
        self._check_shapes()  # (C4)
        if len(self.outputs) != (count := 3 if self.cell.data == "lstm" else 2):  # (C5)
            raise VerifyException(f"{self.cell.data} has {count} results, found {len(self.outputs)}")

    def _check_activations(self) -> None:
        names = [a.data for a in self.activations]
        if unknown := [name for name in names if name not in ACTIVATIONS]:
            raise VerifyException(f'activations must be of {", ".join(ACTIVATIONS)}, found "{unknown[0]}"')
        count = FUNCTIONS[self.cell.data] * self.directions
        if not len(names) == len(self.alphas.get_values()) == len(self.betas.get_values()) == count:
            raise VerifyException(
                f"activations, alphas and betas must be {count}, found {len(names)} activations"
            )

    def _check_shapes(self) -> None:
        x = dims_of(self.x.type)
        if len(x) != 3:
            raise VerifyException(f"x must be [T, N, I], found {shape_text(x)}")
        form = f"[D, G * H / {self.panel}, H, {self.panel}]" if self.panel else "[D, G * H, H]"
        if len(r := dims_of(self.r.type)) != (4 if self.panel else 3):
            raise VerifyException(f"r must be {form}, found {shape_text(r)}")
        count, hidden = Dim.of(self.directions), self.hidden
        rows = hidden * GATES[self.cell.data]
        if self.panel:
            if not hidden.is_static or hidden.value % self.panel:
                raise VerifyException(f"a panel of {self.panel} rows must divide the state, of {hidden}")
            panels, panel = Dim.of(rows.value // self.panel), Dim.of(self.panel)
            expect_dims(self.w, [count, panels, x[2], panel], "w")
            expect_dims(self.r, [count, panels, hidden, panel], "r")
        else:
            expect_dims(self.w, [count, rows, x[2]], "w")
            expect_dims(self.r, [count, rows, hidden], "r")
        expected = {
            "bias": [count, rows * 2],
            "lengths": [x[1]],
            "h0": [count, x[1], hidden],
            "c0": [count, x[1], hidden],
            "peepholes": [count, hidden * 3],
        }
        for name, dims in expected.items():
            value: SSAValue | None = getattr(self, name)
            if value is None:
                continue
            if name in ("c0", "peepholes") and self.cell.data != "lstm":
                raise VerifyException(f"a {self.cell.data} has no {name}")
            expect_dims(value, dims, name)

    def infer(self) -> Sequence[Attribute]:
        steps, batch, _ = dims_of(self.x.type)
        element, count = tensor_of(self.x).element_type, Dim.of(self.directions)
        state = tensor_type(element, [count, batch, self.hidden])
        y = tensor_type(element, [steps, count, batch, self.hidden])
        return [y, state, state] if self.cell.data == "lstm" else [y, state]
