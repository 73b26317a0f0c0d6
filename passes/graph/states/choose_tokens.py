"""`choose-tokens`: the most probable token of each position in place of the logits of a decoder."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, Float16Type, Float32Type, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.state import NAME, STATE, set_type_of_body
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.passes.base import Pass, functions_of
from stepwell.runtime.errors import StepwellError

LOGITS = "logits"
TOKENS = "tokens"


@dataclass(frozen=True)
class ChooseTokensPass(Pass):
    """
    Let `@main` return the index of the greatest logit of each position, of equal ones the lower, and no
    logits.

    ```mlir
    func.func @main(%x: tensor<2x8xf32>) -> (tensor<2x8xf32> {graph.name = "logits"}) {
      func.return %x : tensor<2x8xf32>
    }
    // ->
    func.func @main(%x: tensor<2x8xf32>) -> (tensor<2xi64> {graph.name = "tokens"}) {
      %tokens = graph.argmax %x axis 1 keep_dims false select_last false : tensor<2x8xf32> -> tensor<2xi64>
      func.return %tokens : tensor<2xi64>
    }
    ```
    The logits are the result that is named `logits`, else the first one that is no state. The new ops are
    outside of kernels, so `fuse-ops` runs after it.

    Class: exact. Fails where no result has floats along an axis.
    """

    name = "choose-tokens"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            if function.sym_name.data == "main":
                _choose(function)


def _choose(main: FuncOp) -> None:
    last = main.body.block.last_op
    assert isinstance(last, ReturnOp)
    given = list(main.res_attrs.data) if main.res_attrs is not None else []
    attributes = given + [DictionaryAttr({})] * (len(last.operands) - len(given))
    number = _logits_number(main, attributes)
    logits = last.operands[number]
    op = graph.ArgmaxOp(logits, _last_axis(main, logits))
    if isinstance(producer := logits.owner, Operation):
        adopt_location(op, producer.location)
    tokens = Builder(InsertPoint.before(last)).insert(op).result
    tokens.name_hint = TOKENS
    last.operands[number] = tokens
    attributes[number] = DictionaryAttr({**attributes[number].data, NAME: StringAttr(TOKENS)})
    main.properties["res_attrs"] = ArrayAttr(attributes)
    set_type_of_body(main)


def _logits_number(main: FuncOp, attributes: list[DictionaryAttr]) -> int:
    """The number of the result with logits. Raises: StepwellError `bad-option`."""
    others = [number for number, each in enumerate(attributes) if STATE not in each.data]
    named = [number for number in others if attributes[number].data.get(NAME) == StringAttr(LOGITS)]
    if not others:
        message = "tokens are chosen by logits, and every result of @main is a state"
        raise StepwellError("bad-option", main, message, help="leave --greedy out")
    return (named or others)[0]


def _last_axis(main: FuncOp, logits: SSAValue) -> int:
    """The axis of the vocabulary. Raises: StepwellError `bad-option`."""
    dims = dims_of(logits.type)
    if not dims or not isinstance(tensor_of(logits).element_type, Float32Type | Float16Type):
        message = f"tokens are chosen by logits, floats along a last axis, found {logits.type}"
        raise StepwellError("bad-option", main, message, help="leave --greedy out")
    return len(dims) - 1
