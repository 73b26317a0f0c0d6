"""The variables of a TFLite model: states of `@main`, or constants where nothing writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import DictionaryAttr, NameLoc, NoneAttr, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from stepwell.dialects import tflite as dialect
from stepwell.dialects.constants import Constant
from stepwell.dialects.graph_ir.state import named


@dataclass
class Variable:
    """A variable: the name of the state, the initial constant, and the argument of `@main`."""

    name: str
    initial: Constant | None = None
    argument: BlockArgument | None = None


class Variables:
    """The variables of a model by a key: the name of a resource, or a tensor's subgraph and number."""

    def __init__(self, main: Block):
        self._main = main
        self._found: dict[object, Variable] = {}

    def variable(self, key: object, name: str) -> Variable:
        """The variable of a key; a new variable gets the name, with a number where the name is taken."""
        if key not in self._found:
            taken = {each.name for each in self._found.values()}
            free = name if name and name not in taken else f"{name or 'state'}_{len(taken)}"
            self._found[key] = Variable(free)
        return self._found[key]

    def named(self, name: str) -> Variable:
        """The variable of a name."""
        return next(each for each in self._found.values() if each.name == name)

    def argument(self, variable: Variable, type: Attribute) -> SSAValue:
        """The value of a variable before the call: an argument of `@main`, before the inputs."""
        if variable.argument is None:
            count = sum(1 for _ in self._used())
            variable.argument = self._main.insert_arg(type, count)
            variable.argument.name_hint = variable.name if SSAValue.is_valid_name(variable.name) else None
        return variable.argument

    def _used(self) -> Iterator[Variable]:
        return (each for each in self._found.values() if each.argument is not None)

    def finish(
        self, values: Mapping[str, SSAValue]
    ) -> tuple[list[DictionaryAttr], list[SSAValue], list[DictionaryAttr]]:
        """
        Let variables that nothing writes be constants.

        Args: `values` are the values after the call, by name, of variables that the graph writes.
        Returns: the attributes of the states' arguments, the states' results, and their attributes.
        """
        for each in [each for each in self._used() if each.name not in values and each.initial is not None]:
            self._freeze(each)
        states = sorted(self._used(), key=lambda each: -1 if each.argument is None else each.argument.index)
        written = [each for each in states if each.name in values]
        return (
            [named(each.name, state=True, initial=each.initial) for each in states],
            [values[each.name] for each in written],
            [named(each.name, state=True) for each in written],
        )

    def _freeze(self, variable: Variable) -> None:
        """Put a constant in place of a variable's argument."""
        assert variable.argument is not None and variable.initial is not None
        weight = dialect.WeightOp(variable.initial)
        weight.attributes[dialect.NAME] = StringAttr(variable.name)
        weight.location = NameLoc(StringAttr(variable.name), NoneAttr())
        first = self._main.first_op
        if first is None:
            self._main.add_op(weight)
        else:
            self._main.insert_op_before(weight, first)
        variable.argument.replace_all_uses_with(weight.result)
        self._main.erase_arg(variable.argument)
        variable.argument = None
