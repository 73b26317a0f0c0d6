"""`graph.state`: the mark of an argument and a result of `@main` that are one value living between calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from stepwell.dialects.constants import Constant
from stepwell.dialects.types import DimsAttr, type_before
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

STATE = "graph.state"
"""Key of an argument's or result's attribute: the name of the value."""
INITIAL = "graph.initial"
"""Key of an argument's attribute: the constant with which a state begins; zeros without it."""
NAME = "graph.name"
GROWS = "graph.grows"
"""Key of an argument's attribute: the axis along which each call of a growing state appends."""
LENGTH = "graph.length"
"""
Key of an attribute of the state that has the length of all growing states: the number of positions that a
call appends. The runtime adds it to the state after the call.
"""


class StatePair(NamedTuple):
    """A state of `@main`: the numbers of the argument and the result, and the initial value."""

    name: str
    argument: int
    result: int | None
    """None for a state that calls only read."""
    initial: Constant | None
    grows: int | None = None
    """The axis along which calls append to it."""
    adds: Dim | None = None
    """For the length of growing states: the number of positions that a call adds to it."""


def argument_attributes(function: FuncOp) -> list[DictionaryAttr]:
    """The attributes of a function's arguments, one dictionary each."""
    given = function.arg_attrs
    return list(given.data) if given is not None else [DictionaryAttr({})] * len(function.body.block.args)


def state_names(function: FuncOp) -> list[str | None]:
    """For each argument of a function the name of its state; None for an input."""
    found = [each.data.get(STATE) for each in argument_attributes(function)]
    return [name.data if isinstance(name, StringAttr) else None for name in found]


def named(name: str, *, state: bool = False, initial: Attribute | None = None) -> DictionaryAttr:
    """The attributes of an argument or result with a name, which may be a state, with an initial value."""
    attributes: dict[str, Attribute] = {NAME: StringAttr(name)}
    if state:
        attributes[STATE] = StringAttr(name)
    if initial is not None:
        attributes[INITIAL] = initial
    return DictionaryAttr(attributes)


def set_argument_attributes(function: FuncOp, attributes: Sequence[DictionaryAttr]) -> None:
    """Give the arguments of a function their attributes."""
    function.properties["arg_attrs"] = ArrayAttr(attributes)


def add_state(main: FuncOp, name: str, type: Attribute, initial: Attribute | None = None) -> SSAValue:
    """Another state of `@main`, an argument after the others; `return_states` gives it a next value."""
    attributes = argument_attributes(main)
    position = sum(state is not None for state in state_names(main))
    argument = main.body.block.insert_arg(type, position)
    argument.name_hint = name if SSAValue.is_valid_name(name) else None
    attributes.insert(position, named(name, state=True, initial=initial))
    set_argument_attributes(main, attributes)
    set_type_of_body(main)
    return argument


def next_name(name: str) -> str:
    """The name of a result that is the next value of an argument, which is no state: `k_next` of `k`."""
    return f"{name}_next"


def return_states(main: FuncOp, values: Mapping[str, SSAValue]) -> None:
    """Let `@main` return the next values of states after its other results."""
    _return_values(main, values, are_states=True)


def return_written(main: FuncOp, values: Mapping[str, SSAValue]) -> None:
    """Let `@main` return new values of arguments, by name, after its other results."""
    _return_values(main, {next_name(name): value for name, value in values.items()}, are_states=False)


def _return_values(main: FuncOp, values: Mapping[str, SSAValue], *, are_states: bool) -> None:
    last = main.body.block.last_op
    assert isinstance(last, ReturnOp)
    results = list(main.res_attrs.data) if main.res_attrs is not None else []
    results += [DictionaryAttr({})] * (len(last.operands) - len(results))
    last.operands = [*last.operands, *values.values()]
    results += [named(name, state=are_states) for name in values]
    main.properties["res_attrs"] = ArrayAttr(results)
    set_type_of_body(main)


def set_type_of_body(main: FuncOp) -> None:
    """Set the type of a function from its body."""
    last = main.body.block.last_op
    assert last is not None
    types = list(main.body.block.arg_types), list(last.operand_types)
    main.properties["function_type"] = FunctionType.from_lists(*types)


def state_pairs(main: FuncOp) -> list[StatePair]:
    """
    The states of `@main`, in the order of its arguments.

    Raises: StepwellError `state-mismatch` for a name that is given twice, for a result without an argument,
    and for types that differ.
    """
    arguments = argument_attributes(main)
    results = list(main.res_attrs.data) if main.res_attrs is not None else []
    read, written = (_numbers(main, each) for each in (arguments, results))
    if extra := [name for name in written if name not in read]:
        message = f"a result is the next value of the state {extra[0]!r}, and no argument is this state"
        help = f'mark the argument with its value before: {{{STATE} = "{extra[0]}"}}'
        raise StepwellError("state-mismatch", main, message, help=help)
    for name, number in written.items():
        before, after = _type(main, read[name], arguments), _type(main, number, results, is_result=True)
        if before != after:
            message = f"the state {name!r} is {before} before a call and {after} after it"
            raise StepwellError("state-mismatch", main, message, help="give both one type")
    return [
        StatePair(name, number, written.get(name), _initial(each), growing_axis(each), _added(each))
        for name, number in read.items()
        for each in [arguments[number]]
    ]


def growing_axis(attributes: DictionaryAttr) -> int | None:
    """The axis along which an argument grows; None where it has one size."""
    axis = attributes.data.get(GROWS)
    return axis.value.data if isinstance(axis, IntegerAttr) else None


def length_argument(main: FuncOp) -> BlockArgument | None:
    """The argument of `@main` that is the length of its growing states; None where none grows."""
    for argument, attributes in zip(main.body.block.args, argument_attributes(main), strict=False):
        if LENGTH in attributes.data:
            return argument
    return None


def _added(attributes: DictionaryAttr) -> Dim | None:
    """The number of positions that a call adds, where an argument is the length of growing states."""
    new = attributes.data.get(LENGTH)
    return new.get()[0] if isinstance(new, DimsAttr) else None


def is_used_part(value: SSAValue) -> bool:
    """Whether a value is the part of a growing state up to the length, as `bind-states` cuts it."""
    op = value.owner
    if not isinstance(op, Operation) or op.name != "graph.slice":
        return False
    return isinstance(op.operands[0], BlockArgument) and is_growing_state(op.operands[0])


def is_growing_state(value: SSAValue) -> bool:
    """Whether a value is a growing state, before or after new positions are written into it."""
    if isinstance(op := value.owner, Operation):
        return op.name == "graph.insert_slice" and is_growing_state(op.operands[0])
    if not isinstance(value, BlockArgument) or not isinstance(main := op.parent_op(), FuncOp):
        return False
    return growing_axis(argument_attributes(main)[value.index]) is not None


def _numbers(main: FuncOp, attributes: Sequence[DictionaryAttr]) -> dict[str, int]:
    """By name of a state, the number of its argument or result. Raises: StepwellError `state-mismatch`."""
    found: dict[str, int] = {}
    for number, each in enumerate(attributes):
        if not isinstance(name := each.data.get(STATE), StringAttr):
            continue
        if found.setdefault(name.data, number) != number:
            message = f"two values are the state {name.data!r}"
            raise StepwellError("state-mismatch", main, message, help="give each state a name of its own")
    return found


def _type(
    main: FuncOp, number: int, attributes: Sequence[DictionaryAttr], *, is_result: bool = False
) -> Attribute:
    types = main.function_type.outputs.data if is_result else main.body.block.arg_types
    return type_before(types[number], attributes[number].data)


def _initial(attributes: DictionaryAttr) -> Constant | None:
    return cast("Constant | None", attributes.data.get(INITIAL))
