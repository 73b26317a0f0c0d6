"""`to-training-mode`: dropout and batch normalization in training, with running statistics as states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.constants import array_of, inline_attr
from stepwell.dialects.graph_ir.state import add_state, return_states
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.onnx.marks import INITIALIZER, VALUES
from stepwell.dialects.onnx.training import is_training
from stepwell.passes.base import Pass
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

NODES = ("marked", "all", "none")
_OPSET = 15
"""The opset from whose definitions of both operators new nodes are."""


@dataclass(frozen=True)
class ToTrainingModePass(Pass):
    """
    Let `Dropout` and `BatchNormalization` do what they do in training; running statistics become states.

    ```mlir
    %y = "onnx.BatchNormalization"(%x, %s, %b, %m, %v) <{…}> {…} : (…) -> !onnx.any
    // ->
    %y, %m2, %v2 = "onnx.BatchNormalization"(%x, %s, %b, %mean, %var) <{training_mode = 1, …}> {…} : (…) -> …
    func.return %z, %m2, %v2 : …
    ```
    where `%mean` and `%var` are arguments `{graph.state = "m", graph.initial = …}` after the parameters, and
    the results of `@main` have the names too. Statistics that are computed stay computed.

    `nodes`: `marked` are those that the model says it of (`training_mode`; below opset 14 several outputs),
    `all` are all, with `none` all are as in inference. `seed` is of masks whose node gives none. Runs on
    level 0, after `lift-parameters`; `count-draws` on level 1 lets masks differ from call to call.

    Class: exact.
    """

    name = "to-training-mode"

    nodes: str = "marked"
    seed: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.nodes not in NODES:
            message = f"nodes is {self.nodes!r}"
            raise StepwellError("bad-option", self.name, message, help=f"it is one of {', '.join(NODES)}")
        main = next((f for f in op.ops if isinstance(f, FuncOp) and f.sym_name.data == "main"), None)
        if main is None:
            raise StepwellError("no-main", op, "training needs a function @main, and the module has none")
        statistics, weights = _Statistics(main), weights_of(ctx)
        for node in list(main.walk()):
            if isinstance(node, onnx.DropoutOp):
                self._convert_dropout(node, weights)
            elif isinstance(node, onnx.BatchNormalizationOp):
                self._convert_norm(node, statistics)
        statistics.return_all()

    def _trains(self, is_marked: bool) -> bool:
        return self.nodes == "all" or (self.nodes == "marked" and is_marked)

    def _convert_dropout(self, node: onnx.DropoutOp, weights: WeightStore) -> None:
        """A dropout of the chosen mode, with a seed. One whose mode is data stays."""
        mode = _constant(node.training_mode, weights)
        if node.training_mode is not None and mode is None:
            return
        trains = self._trains(mode is not None and bool(mode.any()))
        operands = [node.data, node.ratio or _ratio(node), _inserted(node, np.array(trains))]
        seed = node.properties.get("seed") or IntegerAttr(self.seed, i64)
        made = onnx.DropoutOp.build(
            operands=[[each] for each in operands],
            properties={"seed": seed},
            result_types=[[node.results[0].type], [result.type for result in node.results[1:]]],
        )
        _replace(node, made)

    def _convert_norm(self, node: onnx.BatchNormalizationOp, statistics: _Statistics) -> None:
        """A batch normalization of the chosen mode, whose statistics are states where it trains."""
        given = [node.input_mean, node.input_var]
        if not self._trains(is_training(node)):
            if is_training(node):
                _expect_convertible(node)
                for old, value in zip(node.results[1:], given, strict=False):
                    old.replace_all_uses_with(value)
                _replace(node, _norm(node, given, [], mode=0))
            return
        _expect_convertible(node)
        held = [statistics.value(value) for value in given]
        made = _norm(node, held, [value.type for value in held], mode=1)
        for value, result in zip(given, made.results[1:], strict=True):
            statistics.update(value, result)
        _replace(node, made)


class _Statistics:
    """The running statistics of `@main`: initializers that become arguments and results."""

    def __init__(self, main: FuncOp):
        self._main = main
        self._names: dict[SSAValue, str] = {}
        """By argument."""
        self._given: dict[SSAValue, SSAValue] = {}
        """By initializer the argument."""
        self._latest: dict[SSAValue, SSAValue] = {}
        """By argument, the statistics after the nodes that were converted."""

    def value(self, given: SSAValue) -> SSAValue:
        """The statistics for a node: a state in place of an initializer."""
        name = _initializer(given)
        if name is None or given.owner.parent is not self._main.body.block:
            return given
        if given not in self._given:
            initial = cast(onnx.ConstantOp, given.owner).value
            self._given[given] = argument = add_state(self._main, name, given.type, initial)
            argument.name_hint = given.name_hint
            self._names[argument] = name
        return self._latest.get(self._given[given], self._given[given])

    def update(self, given: SSAValue, value: SSAValue) -> None:
        """Let statistics be what a node in the block of `@main` has made of them."""
        argument = self._given.get(given)
        if argument is not None and value.owner.parent in (None, self._main.body.block):
            self._latest[argument] = value

    def return_all(self) -> None:
        """Let `@main` return the statistics as next values of their states."""
        return_states(self._main, {self._names[argument]: value for argument, value in self._latest.items()})


def _initializer(value: SSAValue) -> str | None:
    """The name of an initializer; None for another value."""
    owner = value.owner
    if not isinstance(owner, onnx.ConstantOp) or INITIALIZER not in owner.attributes:
        return None
    names = owner.attributes.get(VALUES)
    return cast("ArrayAttr[StringAttr]", names).data[0].data if isinstance(names, ArrayAttr) else None


def _constant(value: SSAValue | None, weights: WeightStore) -> np.ndarray | None:
    owner = None if value is None else value.owner
    given = owner.properties.get("value") if isinstance(owner, onnx.ConstantOp) else None
    return None if given is None else array_of(given, weights)


def _expect_convertible(node: onnx.BatchNormalizationOp) -> None:
    """Require what opset 15 can say. Raises: StepwellError `unsupported`."""
    spatial = node.properties.get("spatial")
    saved = [result for result in (node.saved_mean, node.saved_var) if result is not None and result.uses]
    if saved or (isinstance(spatial, IntegerAttr) and not spatial.value.data):
        message = "BatchNormalization with saved statistics, or with some for each element, is not trained"
        raise StepwellError("unsupported", node, message, help="export the model at opset 14 or later")


def _ratio(node: onnx.DropoutOp) -> SSAValue:
    """The ratio of a node without an operand for it: an attribute below opset 12, by default 0.5."""
    ratio = node.properties.get("ratio")
    return _inserted(node, np.array(ratio.value.data if isinstance(ratio, FloatAttr) else 0.5, np.float32))


def _inserted(before: Operation, array: np.ndarray) -> SSAValue:
    value = inline_attr(array)
    made = onnx.ConstantOp.build(result_types=[value.type], properties={"value": value})
    adopt_location(made, before.location)
    Rewriter.insert_op(made, InsertPoint.before(before))
    return made.results[0]


def _norm(
    node: onnx.BatchNormalizationOp, statistics: Sequence[SSAValue], types: Sequence[Attribute], *, mode: int
) -> onnx.BatchNormalizationOp:
    """A batch normalization with other statistics, which are results after training."""
    kept = {name: node.properties[name] for name in ("epsilon", "momentum") if name in node.properties}
    return onnx.BatchNormalizationOp.build(
        operands=[node.X, node.scale, node.B, *statistics],
        properties={**kept, "training_mode": IntegerAttr(mode, i64)},
        result_types=[[node.results[0].type], *([type] for type in types), *([[]] * (4 - len(types)))],
    )


def _replace(node: onnx.OnnxOp, made: onnx.OnnxOp) -> None:
    """Replace a node by a node of a known opset whose first results replace its results."""
    made.attributes = {**node.attributes, onnx.OPSET: IntegerAttr(_OPSET, i64)}
    adopt_location(made, node.location)
    count = len(node.results)
    results = [*made.results[:count], *([None] * (count - len(made.results)))]
    Rewriter.replace_op(node, made, results, safe_erase=True)
