"""`functionalize-torch`: operators that write into their operand become ones that make a new value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from stepwell.dialects import torch
from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.graph_ir.state import (
    NAME,
    STATE,
    add_state,
    argument_attributes,
    return_states,
    return_written,
)
from stepwell.dialects.torch.rescaled_tables import is_rescaled
from stepwell.dialects.types import dims_of
from stepwell.runtime.errors import StepwellError

_ALIASES = frozenset(
    f"aten.{name}.default" for name in "alias detach detach_ dropout feature_dropout alpha_dropout".split()
)
"""Operators whose result is their operand; `dropout` in inference, and in training it has no conversion."""
_SHAPES = frozenset(
    f"aten.{name}"
    for name in (
        "view.default reshape.default unsqueeze.default squeeze.default squeeze.dim squeeze.dims "
        "flatten.using_ints unflatten.int _unsafe_view.default view_as.default"
    ).split()
)
_SAME_SHAPE = frozenset(("aten.transpose.int", "aten.t.default", "aten.mT.default", "aten.numpy_T.default"))
_PARTS: Mapping[str, str] = {
    "aten.select.int": "aten.select_scatter.default",
    "aten.slice.Tensor": "aten.slice_scatter.default",
}
"""Views of a part, and the operator that writes a part."""
_PERMUTE = "aten.permute.default"
_OTHER_VIEWS = frozenset(
    f"aten.{name}"
    for name in (
        "expand.default diagonal.default unbind.int split.Tensor split_with_sizes.default chunk.default "
        "narrow.default unfold.default as_strided.default"
    ).split()
)
_VIEWS = _ALIASES | _SHAPES | _SAME_SHAPE | _PARTS.keys() | {_PERMUTE} | _OTHER_VIEWS
_HELP = "export a program without it: program.run_decompositions({}) writes new values before it is saved"


class FunctionalizeTorchPass(ModulePass):
    """
    Replace operators in place by their counterparts with a new result; changed buffers become states, and the
    new values of changed arguments are results (`x_next`).

    A write through a chain of views (`select`, `slice`, shapes, orders of dimensions) is a write of a part,
    and later uses of the value and of its views get the new one.

    ```mlir
    %v = "torch.aten.select.int"(%k) {dim = 0 : i64, index = 1 : i64} : (tensor<4x3xf32>) -> tensor<3xf32>
    %y = "torch.aten.add_.Tensor"(%v, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    // ->
    %v = "torch.aten.select.int"(%k) …
    %y = "torch.aten.add.Tensor"(%v, %x) …
    %k2 = "torch.aten.select_scatter.default"(%k, %y) {dim = 0 : i64, index = 1 : i64} …
    ```
    """

    name = "functionalize-torch"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite each function that has a write."""
        for function in op.ops:
            if isinstance(function, FuncOp) and any(map(_is_write, function.body.walk())):
                _Function(function).rewrite()


def _is_write(op: Operation) -> bool:
    """Whether an op writes into its first operand: its name ends in an underscore, other than `__and__`."""
    if not isinstance(op, ForeignOp):
        return False
    packet = op.SIGNATURE.name.split(".")[1]
    return packet.endswith("_") and not packet.endswith("__")


@dataclass
class _Storage:
    """The memory of a value and of its views: its present contents, and the number of writes so far."""

    root: SSAValue
    contents: SSAValue
    writes: int = 0


@dataclass(frozen=True)
class _View:
    """A value as a chain of views of a storage."""

    storage: _Storage
    chain: Sequence[ForeignOp]
    writes: int
    """The writes into the storage before the value was computed."""


@dataclass
class _Function:
    """A function under rewriting."""

    function: FuncOp
    views: dict[SSAValue, _View] = field(default_factory=dict[SSAValue, _View])

    def rewrite(self) -> None:
        """Visit the ops in order, then let the function return the buffers that changed."""
        block = self.function.body.block
        for op in list(block.ops):
            self._refresh_operands(op)
            if _is_write(op):
                assert isinstance(op, ForeignOp)
                self._write(op)
            elif isinstance(op, ForeignOp) and op.SIGNATURE.name in _VIEWS:
                self._enter_view(op)
        self._return_changes(block)

    def _view_of(self, value: SSAValue) -> _View:
        """A value as a view; one that is new here has a storage of its own."""
        if value not in self.views:
            self.views[value] = _View(_Storage(value, value), (), 0)
        return self.views[value]

    def _enter_view(self, op: ForeignOp) -> None:
        base = self._view_of(op.operands[0])
        for result in op.results:
            self.views[result] = _View(base.storage, (*base.chain, op), base.storage.writes)

    def _refresh_operands(self, op: Operation) -> None:
        """Replace operands whose memory was written since they were computed."""
        for index, value in enumerate(op.operands):
            view = self.views.get(value)
            if view is not None and view.writes < view.storage.writes:
                op.operands[index] = self._present(view, op)

    def _present(self, view: _View, before: Operation) -> SSAValue:
        """The present contents of a view, computed before an op."""
        value = view.storage.contents
        chain: list[ForeignOp] = []
        for link in view.chain:
            made = self._again(link, value, before)
            chain.append(made)
            value = made.results[0]
        self.views[value] = _View(view.storage, chain, view.storage.writes)
        return value

    def _again(self, link: ForeignOp, value: SSAValue, before: Operation) -> ForeignOp:
        """A view once more, of another value."""
        made = link.clone()
        made.operands[0] = value
        made.location = before.location
        _insert(made, before)
        return made

    def _write(self, op: ForeignOp) -> None:
        """Replace a write by a new value, and put the value into the storage."""
        target = op.operands[0]
        view = self._view_of(target)
        new = self._functional(op)
        contents = self._written(view, new, op)
        view.storage.contents, view.storage.writes = contents, view.storage.writes + 1
        for result in op.results:
            result.replace_all_uses_with(new)
        current = _View(view.storage, view.chain, view.storage.writes)
        self.views[new] = current
        if not view.chain:
            self.views[contents] = current
        op.detach()
        op.erase()

    def _functional(self, op: ForeignOp) -> SSAValue:
        """The new value of the part that an operator writes."""
        library, packet, overload = op.SIGNATURE.name.split(".")
        name = f"{library}.{packet.removesuffix('_')}.{overload}"
        if name not in torch.TABLE:
            raise StepwellError(
                "unsupported",
                op,
                f"{op.SIGNATURE.name}: no operator makes its result as a new value",
                help=_HELP,
            )
        made = torch.TABLE.op_class(name).create(
            operands=op.operands, result_types=[op.operands[0].type], attributes=dict(op.attributes)
        )
        made.location = op.location
        _insert(made, op)
        return made.results[0]

    def _written(self, view: _View, part: SSAValue, op: ForeignOp) -> SSAValue:
        """The contents of a storage after a part is written, inner views first."""
        values = [view.storage.contents]
        for link in view.chain[:-1]:
            values.append(self._again(link, values[-1], op).results[0])
        for link, whole in zip(reversed(view.chain), reversed(values), strict=True) if view.chain else ():
            part = _put(link, whole, part, op)
        return part

    def _return_changes(self, block: Block) -> None:
        """Make states of the buffers whose memory was written, and results of the new values of arguments."""
        storages = {id(view.storage): view.storage for view in self.views.values()}
        changed: dict[str, SSAValue] = {}
        arguments: dict[str, SSAValue] = {}
        for storage in storages.values():
            if not storage.writes:
                continue
            if isinstance(storage.root, BlockArgument):
                arguments[self._input_name(storage.root, block)] = storage.contents
                continue
            owner = storage.root.owner
            if isinstance(owner, torch.WeightOp) and not is_rescaled(storage.contents):
                name = _name_of(owner, len(changed))
                changed[name] = storage.contents
                argument = add_state(self.function, name, storage.root.type, owner.value)
                if storage.contents is storage.root:
                    changed[name] = argument
                storage.root.replace_all_uses_with(argument)
                owner.detach()
                owner.erase()
        if arguments:
            return_written(self.function, arguments)
        if changed:
            return_states(self.function, changed)

    def _input_name(self, argument: BlockArgument, block: Block) -> str:
        """The name of an input of `@main`. Raises: StepwellError `unsupported` for any other argument."""
        attributes = argument_attributes(self.function)[argument.index].data
        name = attributes.get(NAME)
        if STATE in attributes or not isinstance(name, StringAttr):
            last = block.last_op
            assert last is not None
            message = f"the program writes into argument {argument.index}, a state, or one without a name"
            raise StepwellError("unsupported", last, message, help=_HELP)
        return name.data


def _put(link: ForeignOp, whole: SSAValue, part: SSAValue, op: ForeignOp) -> SSAValue:
    """A value in which the part that a view shows is replaced. Raises: StepwellError `unsupported`."""
    name = link.SIGNATURE.name
    if name in _ALIASES:
        return part
    if name in _SHAPES:
        return _made("aten.view.default", {"self": part, "size": list(dims_of(whole.type))}, whole, op)
    if name in _SAME_SHAPE:
        given = {key: link.value(key) for key in link.SIGNATURE.by_name if key != "self"}
        return _made(name, {"self": part, **given}, whole, op)
    if name == _PERMUTE:
        order = [int(str(axis)) % len(dims_of(whole.type)) for axis in _items(link.value("dims"))]
        return _made(name, {"self": part, "dims": [order.index(i) for i in range(len(order))]}, whole, op)
    if name in _PARTS:
        given = {key: link.value(key) for key in link.SIGNATURE.by_name if key != "self"}
        return _made(_PARTS[name], {"self": whole, "src": part, **given}, whole, op)
    raise StepwellError("unsupported", op, f"a write through the view {name}", help=_HELP)


def _items(value: object) -> Sequence[object]:
    assert isinstance(value, Sequence)
    return cast("Sequence[object]", value)


def _made(name: str, arguments: dict[str, object], like: SSAValue, op: ForeignOp) -> SSAValue:
    """The result of a new op, of another value's type."""
    made = torch.TABLE.op_class(name).make(arguments, [like.type])
    made.location = op.location
    _insert(made, op)
    return made.results[0]


def _insert(op: Operation, before: Operation) -> None:
    assert before.parent is not None
    before.parent.insert_op_before(op, before)


def _name_of(weight: torch.WeightOp, number: int) -> str:
    """The name of a buffer in the program."""
    name = weight.attributes.get(torch.NAME)
    return name.data if isinstance(name, StringAttr) else f"state{number}"
