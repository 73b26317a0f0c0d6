"""Control flow, calls and variables of a subgraph: regions, operators in place, and states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Block, Region, SSAValue, Use

from stepwell.dialects import tflite as dialect
from stepwell.dialects.constants import constant_attr
from stepwell.frontend.tflite.body import Body
from stepwell.frontend.tflite.model import OperatorRecord
from stepwell.frontend.tflite.variables import Variable

Given = SSAValue | Variable


def add_control(body: Body, record: OperatorRecord) -> None:
    """Add an operator of control flow, or one of variables. Raises: StepwellError."""
    _CONTROL[record.target](body, record)


def _number(body: Body, record: OperatorRecord, name: str) -> int:
    """An option that is the number of a subgraph."""
    found = record.options.get(name, 0)
    if not isinstance(found, int):
        raise body.invalid(body.title(record), f"`{name}` must be the number of a subgraph")
    return found


def _define(body: Body, record: OperatorRecord, values: Sequence[Given]) -> None:
    """Let the results of an operator be some values."""
    if len(values) != len(record.outputs):
        message = f"{record.target} has {len(record.outputs)} results, its subgraph {len(values)}"
        raise body.invalid(body.title(record), message)
    for index, value in zip(record.outputs, values, strict=True):
        body.define(index, value)


def _call(body: Body, record: OperatorRecord, option: str) -> None:
    """The operators of a subgraph, in place of the call."""
    number = _number(body, record, option)
    callee = Body(body.program, number, body.block, body.variables, body.path)
    results = callee.read([body.given(index) for index in record.inputs])
    body.variables = callee.variables
    _define(body, record, results)


def _call_once(body: Body, record: OperatorRecord) -> None:
    """The subgraph that sets variables: their initial values, which must be constants."""
    number = _number(body, record, "init_subgraph_index")
    init = Body(body.program, number, Block(), None, body.path)
    name = f"call_once of subgraph {number}"
    for operator in init.graph.operators:
        body.program.count_operator()
        if operator.target == "var_handle" and not operator.is_custom:
            _var_handle(init, operator)
            continue
        if operator.target != "assign_variable" or operator.is_custom:
            raise body.unsupported(name, f"{operator.target!r} among what is run once is not supported")
        variable, tensor = _target(init, operator), init.record(operator.inputs[1])
        array = init.graph.elements(tensor)
        if array is None:
            raise body.unsupported(name, f"{variable.name!r} begins with a value that is no constant")
        variable.initial = constant_attr(array, variable.name, body.program.weights)


def _var_handle(body: Body, record: OperatorRecord) -> None:
    container, shared = (str(record.options.get(each) or "") for each in ("container", "shared_name"))
    made = body.program.variables.variable((container, shared), shared or container or "variable")
    _define(body, record, [made])


def _target(body: Body, record: OperatorRecord) -> Variable:
    """The variable that an operator reads or writes."""
    count = 1 + (record.target == "assign_variable")
    if len(record.inputs) != count or not isinstance(found := body.given(record.inputs[0]), Variable):
        raise body.invalid(record.target, f"the first of {count} operands must be a variable")
    return found


def _read_variable(body: Body, record: OperatorRecord) -> None:
    variable = _target(body, record)
    if len(record.outputs) != 1:
        raise body.invalid(record.target, f"expected 1 result, found {len(record.outputs)}")
    _define(body, record, [body.load(variable, body.type(record.outputs[0]))])


def _assign_variable(body: Body, record: OperatorRecord) -> None:
    body.store(_target(body, record), body.value(record.inputs[1]))


def _if(body: Body, record: OperatorRecord) -> None:
    """A choice between two regions, which see the values around it."""
    name = body.title(record)
    if not record.inputs:
        raise body.invalid(name, "if has no condition")
    condition, given = body.value(record.inputs[0]), [body.given(index) for index in record.inputs[1:]]
    bodies, results = list[Body](), list[list[Given]]()
    for option in ("then_subgraph_index", "else_subgraph_index"):
        number = _number(body, record, option)
        bodies.append(Body(body.program, number, Block(), body.variables, body.path))
        results.append(bodies[-1].read(given))
    tensors = _tensors(body, record, results)
    written = _written(body, bodies)
    for each, found in zip(bodies, results, strict=True):
        values = [value for value in found if isinstance(value, SSAValue)]
        values += [each.load(variable, value.type) for variable, value in written.values()]
        each.block.add_op(dialect.ReturnOp(values))
    types = [*map(body.type, tensors), *(value.type for _, value in written.values())]
    op = dialect.IfOp([condition], types, [Region(each.block) for each in bodies])
    _finish(body, op, name, tensors, written)


def _while(body: Body, record: OperatorRecord) -> None:
    """A loop over values; handles of variables are the same in each iteration."""
    name = body.title(record)
    given = [body.given(index) for index in record.inputs]
    carried = [value for value in given if isinstance(value, SSAValue)]
    bodies, results = list[Body](), list[list[Given]]()
    for option in ("cond_subgraph_index", "body_subgraph_index"):
        block = Block(arg_types=[value.type for value in carried])
        arguments = iter(block.args)
        inputs = [value if isinstance(value, Variable) else next(arguments) for value in given]
        bodies.append(Body(body.program, _number(body, record, option), block, body.variables, body.path))
        results.append(bodies[-1].read(inputs))
    (condition, values), (test, again) = results, bodies
    if len(condition) != 1 or not isinstance(condition[0], SSAValue):
        raise body.invalid(name, f"the condition of while must be 1 tensor, found {len(condition)}")
    if _written(body, [test]):
        raise body.unsupported(name, "the condition of while writes a variable")
    if _handles(values) != _handles(given):
        raise body.unsupported(name, "an iteration of while exchanges variables")
    tensors = _tensors(body, record, [values])
    written = _written(body, [again])
    inits = [body.load(variable, value.type) for variable, value in written.values()]
    for initial in inits:
        _carry(initial, bodies)
    test.block.add_op(dialect.ReturnOp([condition[0]]))
    final = [value for value in values if isinstance(value, SSAValue)]
    again.block.add_op(dialect.ReturnOp([*final, *(value for _, value in written.values())]))
    types = [*map(body.type, tensors), *(value.type for value in inits)]
    op = dialect.WhileOp([*carried, *inits], types, [Region(each.block) for each in bodies])
    _finish(body, op, name, tensors, written)


def _handles(values: Sequence[Given]) -> list[tuple[int, Variable]]:
    """The handles of variables among values, with their positions."""
    return [(i, value) for i, value in enumerate(values) if isinstance(value, Variable)]


def _tensors(body: Body, record: OperatorRecord, results: Sequence[Sequence[Given]]) -> list[int]:
    """The results of an operator that are no handles of variables, which are the same in all regions."""
    for found in results:
        if len(found) != len(record.outputs):
            message = f"{record.target} has {len(record.outputs)} results, its subgraph {len(found)}"
            raise body.invalid(body.title(record), message)
    tensors: list[int] = []
    for index, *values in zip(record.outputs, *results, strict=True):
        first = values[0]
        if not isinstance(first, Variable):
            tensors.append(index)
        elif any(value is not first for value in values):
            raise body.unsupported(body.title(record), "a choice between variables")
        else:
            body.define(index, first)
    return tensors


def _written(body: Body, bodies: Sequence[Body]) -> dict[str, tuple[Variable, SSAValue]]:
    """The variables written by bodies, each with a value from a body."""
    found: dict[str, tuple[Variable, SSAValue]] = {}
    for each in bodies:
        for name, value in each.variables.items():
            if value is not body.variables.get(name):
                found[name] = (body.program.variables.named(name), value)
    return found


def _carry(initial: SSAValue, bodies: Sequence[Body]) -> None:
    """Let the regions of a loop take a variable as an argument, in place of its value before the loop."""
    for each in bodies:
        argument = each.block.insert_arg(initial.type, len(each.block.args))
        initial.replace_uses_with_if(argument, lambda use, block=each.block: _is_inside(use, block))


def _is_inside(use: Use, block: Block) -> bool:
    """Whether a use is in a block, or in a region of an op there."""
    found = use.operation.parent
    while found is not None and found is not block:
        around = found.parent_op()
        found = None if around is None else around.parent
    return found is block


def _finish(
    body: Body,
    op: dialect.IfOp | dialect.WhileOp,
    name: str,
    tensors: Sequence[int],
    written: Mapping[str, tuple[Variable, SSAValue]],
) -> None:
    """Add an op of control flow, whose results are tensors and new values of variables."""
    body.add(op, name)
    for index, result in zip(tensors, op.results[: len(tensors)], strict=True):
        body.define(index, result)
    for (variable, _), result in zip(written.values(), op.results[len(tensors) :], strict=True):
        body.store(variable, result)


_CONTROL: Mapping[str, Callable[[Body, OperatorRecord], None]] = {
    "assign_variable": _assign_variable,
    "call": lambda body, record: _call(body, record, "subgraph"),
    "call_once": _call_once,
    "if": _if,
    "read_variable": _read_variable,
    "stablehlo_composite": lambda body, record: _call(body, record, "decomposition_subgraph_index"),
    "var_handle": _var_handle,
    "while": _while,
}
"""The functions of the operators of control flow and variables."""
assert set(_CONTROL) == set(dialect.CONTROL)
