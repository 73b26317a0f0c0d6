"""Expressions of scripts, converted to expressions of formulas, which have types and code."""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, cast

from stepwell.frontend.script import language
from stepwell.frontend.script.scope import Contents, Scope
from stepwell.frontend.script.source import Source
from stepwell.frontend.te import functions as te
from stepwell.frontend.te.bounds import interval, is_inside
from stepwell.frontend.te.expressions import (
    INDEX,
    Expr,
    Operand,
    Read,
    arithmetic,
    comparison,
    divided,
    expression,
    is_integer,
    of_floats,
    of_integers,
)
from stepwell.frontend.te.named_ops import named_call
from stepwell.frontend.te.places import FormulaError
from stepwell.runtime.errors import did_you_mean

_BINARY: Mapping[type[ast.operator], tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Operand]]] = {
    ast.Add: (lambda a, b: a + b, lambda a, b: arithmetic("add", a, b)),
    ast.Sub: (lambda a, b: a - b, lambda a, b: arithmetic("subtract", a, b)),
    ast.Mult: (lambda a, b: a * b, lambda a, b: arithmetic("multiply", a, b)),
    ast.Div: (lambda a, b: a / b, divided),
    ast.FloorDiv: (lambda a, b: a // b, lambda a, b: of_integers("floordiv", a, b)),
    ast.Mod: (lambda a, b: a % b, lambda a, b: of_integers("floormod", a, b)),
    ast.BitAnd: (lambda a, b: a & b, te.conjunction),
    ast.BitOr: (lambda a, b: a | b, te.disjunction),
    ast.Pow: (lambda a, b: a**b, lambda a, b: of_floats("power", a, b)),
}
_COMPARISONS: Mapping[type[ast.cmpop], tuple[Callable[[Any, Any], bool], str]] = {
    ast.Lt: (operator.lt, "lt"),
    ast.LtE: (operator.le, "le"),
    ast.Gt: (operator.gt, "gt"),
    ast.GtE: (operator.ge, "ge"),
    ast.Eq: (operator.eq, "eq"),
    ast.NotEq: (operator.ne, "ne"),
}
_OTHERS = ("absolute", "minimum", "maximum", "power", "select", "isnan", "truncdiv", "truncmod")
_FUNCTIONS: Mapping[str, Callable[..., Operand]] = {
    **te.FUNCTIONS,
    **{name: getattr(te, name) for name in _OTHERS},
}
_NAMES = {id(function): name for name, function in language.FUNCTIONS.items()}
_MOST_BITS = 64


class Expressions:
    """The expressions of a script, at a point of it."""

    def __init__(self, source: Source, scope: Scope):
        self._source, self._scope = source, scope

    def typed(self, node: ast.expr, like: Expr | None = None) -> Expr:
        """An expression with a type; a Python number gets the type of `like`. Raises: StepwellError."""
        value = self.value(node)
        try:
            return expression(value, like)
        except FormulaError as error:
            raise self._formula_error(node, error) from None

    def condition(self, node: ast.expr) -> Expr | bool:
        """A condition as an expression, or as a known value. Raises: StepwellError."""
        value = self.value(node)
        if isinstance(value, bool):
            return value
        if not isinstance(value, Expr) or value.dtype != "bool":
            found = value.dtype if isinstance(value, Expr) else type(value).__name__
            raise self._source.error_at("te-type", node, f"a condition is a bool, found {found}")
        return value

    def value(self, node: ast.expr) -> Operand:
        """An expression, or a Python number. Raises: StepwellError `script-syntax`, `te-type`."""
        try:
            return self._made(node)
        except FormulaError as error:
            raise self._formula_error(node, error) from None

    def _formula_error(self, node: ast.AST, error: FormulaError) -> Exception:
        """The error of a formula at a node of the script."""
        help = None if error.help is None else error.help.replace("te.", "")
        return self._source.error_at(error.code, node, error.message.replace("te.", ""), help)

    def _made(self, node: ast.expr) -> Operand:
        match node:
            case ast.Constant(value=bool() | int() | float() as number):
                return number
            case ast.Name() | ast.Attribute():
                return self._named(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.value(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                condition = self.condition(operand)
                return not condition if isinstance(condition, bool) else te.negation(condition)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self._binary(node, op, self.value(left), self.value(right))
            case ast.BoolOp(op=op, values=values):
                return self._joined(isinstance(op, ast.And), [self.condition(value) for value in values])
            case ast.Compare():
                return self._compared(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._chosen(node, test, body, orelse)
            case ast.Subscript():
                return self._element(node)
            case ast.Call():
                return self._called(node)
            case _:
                raise self._source.foreign(node, _WORDS.get(type(node), type(node).__name__.lower()))

    def _named(self, node: ast.Name | ast.Attribute) -> Operand:
        """The number of a name, of the script or captured."""
        names = self._scope.names
        if isinstance(node, ast.Name) and (local := names.get(node.id)) is not None:
            if isinstance(local, Contents):
                raise self._source.error_at("te-type", node, f"{node.id} is a tensor, expected a number")
            return local
        found = self._source.resolved(node)
        if isinstance(found, bool | int | float) and not hasattr(found, "item"):
            return found
        if hasattr(found, "item") and not hasattr(found, "__len__"):
            return cast(float, cast("Any", found).item())
        text = ast.unparse(node)
        help = f"{did_you_mean(text, names)}the names are {', '.join(names) or 'none'}"
        raise self._source.error_at("script-syntax", node, f"{text} is no number that is known here", help)

    def _binary(self, node: ast.expr, op: ast.operator, a: Operand, b: Operand) -> Operand:
        of_numbers, of_expressions = _BINARY[type(op)]
        if isinstance(a, Expr) or isinstance(b, Expr):
            return of_expressions(a, b)
        if isinstance(op, ast.Pow) and not (abs(b) <= _MOST_BITS and abs(a) < 1 << _MOST_BITS):
            raise self._source.error_at("script-syntax", node, "a power of numbers this large")
        try:
            return of_numbers(a, b)
        except ArithmeticError as error:
            raise self._source.error_at("script-syntax", node, str(error)) from None

    @staticmethod
    def _joined(is_and: bool, conditions: list[Expr | bool]) -> Operand:
        """Conditions joined from left to right: the others are evaluated as far as Python does."""

        def both(right: Expr | bool, left: Expr | bool) -> Expr | bool:
            if isinstance(left, bool):
                return right if left == is_and else left
            return te.if_then_else(left, right, False) if is_and else te.if_then_else(left, True, right)

        *rest, last = conditions
        return reduce(both, rest[::-1], last)

    def _compared(self, node: ast.Compare) -> Operand:
        operands = [self.value(each) for each in (node.left, *node.comparators)]
        found: list[Expr | bool] = []
        for op, a, b in zip(node.ops, operands, operands[1:], strict=False):
            if type(op) not in _COMPARISONS:
                raise self._source.foreign(node, f"`{ast.unparse(node)}`")
            of_numbers, name = _COMPARISONS[type(op)]
            is_expression = isinstance(a, Expr) or isinstance(b, Expr)
            found.append(comparison(name, a, b) if is_expression else of_numbers(a, b))
        return self._joined(is_and=True, conditions=found)

    def _chosen(self, node: ast.expr, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Operand:
        condition = self.condition(test)
        if isinstance(condition, bool):
            return self.value(body if condition else orelse)
        certain, self._scope.is_certain = self._scope.is_certain, False
        try:
            sides = self.value(body), self.value(orelse)
        finally:
            self._scope.is_certain = certain
        return te.if_then_else(condition, *sides)

    def _element(self, node: ast.Subscript) -> Operand:
        """An element of a tensor, an extent of one, or a number of a captured tuple."""
        match node.value:
            case ast.Attribute(value=ast.Name(id=name), attr="shape") if name in self._scope.names:
                shape = self.contents(node.value.value).tensor.shape
                extent = shape[self._position(node, len(shape))]
                return extent
            case ast.Name(id=name) if name in self._scope.names:
                contents = self.contents(node.value)
                read = self.access(node, contents)
                self.expect_inside(node, read)
                return read
            case _:
                found = self._source.resolved(node.value)
                if not isinstance(found, tuple):
                    raise self._source.foreign(node, f"`{ast.unparse(node)}`")
                items = cast("tuple[object, ...]", found)
                number = items[self._position(node, len(items))]
                if not isinstance(number, bool | int | float):
                    raise self._source.foreign(node, f"{type(number).__name__}")
                return number

    def contents(self, node: ast.expr) -> Contents:
        """The tensor of a name. Raises: StepwellError `te-type`."""
        local = self._scope.names.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(local, Contents):
            tensors = [name for name, each in self._scope.names.items() if isinstance(each, Contents)]
            help = f"the tensors are {', '.join(tensors) or 'none'}"
            raise self._source.error_at("te-type", node, f"{ast.unparse(node)} is no tensor", help)
        return local

    def _position(self, node: ast.Subscript, count: int) -> int:
        index = self.value(node.slice)
        if not isinstance(index, int) or not -count <= index < count:
            message = f"the index is a number from 0 to {count - 1}, found {index}"
            raise self._source.error_at("script-syntax", node, message)
        return index

    def indices(self, node: ast.Subscript, contents: Contents) -> list[Expr]:
        """The indices of an element, integers as many as dimensions. Raises: StepwellError `te-type`."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(part, ast.Slice) for part in parts):
            raise self._source.foreign(node, "slices: an element has an index a dimension")
        found = [self.typed(part) for part in parts]
        if len(found) != contents.tensor.ndim:
            message = (
                f"{contents.tensor.name} has {contents.tensor.ndim} dimensions, found {len(found)} indices"
            )
            raise self._source.error_at("te-type", node, message)
        if wrong := [index for index in found if not is_integer(index.dtype)]:
            raise self._source.error_at("te-type", node, f"an index is an integer, found {wrong[0].dtype}")
        return [index if index.dtype == INDEX else te.cast_to(index, INDEX) for index in found]

    def access(self, node: ast.Subscript, contents: Contents) -> Read:
        """An element of a tensor, at its place in the source. Raises: StepwellError `te-type`."""
        element = Read(contents.tensor, self.indices(node, contents))
        element.where = self._source.place(node)
        return element

    def expect_inside(self, node: ast.AST, element: Read) -> None:
        """Require indices to be inside where their bounds are known, and no condition guards them."""
        if not self._scope.is_certain:
            return
        for axis, (index, size) in enumerate(zip(element.indices, element.tensor.dims, strict=True)):
            low, high = interval(index)
            if low is not None and high is not None and not is_inside(element, axis, self._scope.positive):
                raise self._source.error_at(
                    "te-bounds",
                    node,
                    f"{element}: {index} is from {low} to {high}, the extent is {size}",
                    "under an `if`, an element outside is not written, and reads as the nearest inside",
                )

    def _called(self, node: ast.Call) -> Operand:
        """The value of a function of numbers."""
        function = self._source.resolved(node.func)
        name = _NAMES.get(id(function))
        if name is None and (number := self._numpy_number(function, node)) is not None:
            return number
        if name is None or node.keywords:
            raise self._source.foreign(node, f"call `{ast.unparse(node.func)}(…)`")
        if name == "cast":
            return self._converted(node)
        if name == "op":
            return self._operator(node)
        if name == "select":
            return te.select(cast("Expr", self.condition(node.args[0])), *map(self.value, node.args[1:]))
        operands = [self.value(argument) for argument in node.args]
        if name in ("minimum", "maximum") and len(operands) > 2:
            return reduce(_FUNCTIONS[name], operands)
        try:
            return _FUNCTIONS[name](*operands)
        except TypeError:
            message = f"{name} does not take {len(operands)} operands"
            raise self._source.error_at("script-syntax", node, message) from None

    def _numpy_number(self, function: object, node: ast.Call) -> Operand | None:
        """The number `np.float64(2)`; None where the function is no type of numpy's, or of an expression."""
        np = sys.modules.get("numpy")  # a script with such a call has imported it
        is_type = np is not None and isinstance(function, type) and issubclass(function, np.number)
        if not is_type or node.keywords or len(node.args) != 1:
            return None
        if isinstance(value := self.value(node.args[0]), Expr):
            dtype = cast("type", function).__name__
            message = f"{ast.unparse(node.func)} is of numbers, found `{value}`"
            raise self._source.error_at("te-type", node, message, f'cast({value}, "{dtype}")')
        return cast("Any", function)(value).item()

    def _operator(self, node: ast.Call) -> Operand:
        """The value of an op by its name."""
        match node.args:
            case [ast.Constant(value=str(name)), *arguments]:
                values: list[Expr] = []
                for argument in arguments:
                    values.append(self.typed(argument, values[0] if values else None))
                try:
                    return named_call(name, values)
                except FormulaError as error:
                    raise self._source.error_at(error.code, node, error.message, error.help) from None
            case _:
                raise self._source.error_at(
                    "script-syntax", node, 'op has a name and numbers: op("math.atan2", y, x)'
                )

    def _converted(self, node: ast.Call) -> Operand:
        match node.args:
            case [x, ast.Constant(value=str(dtype))]:
                return te.cast_to(self.value(x), language.SHORT_TYPES.get(dtype, dtype))
            case _:
                raise self._source.error_at(
                    "script-syntax", node, 'cast has a number and a type: cast(x, "f32")'
                )


_WORDS: Mapping[type[ast.expr], str] = {
    ast.ListComp: "comprehensions",
    ast.GeneratorExp: "comprehensions",
    ast.Lambda: "lambda",
    ast.List: "lists",
    ast.Dict: "dicts",
    ast.Tuple: "tuples, but of captured numbers",
    ast.Constant: "text",
    ast.JoinedStr: "text",
    ast.Starred: "`*`",
    ast.NamedExpr: "`:=`",
    ast.Await: "await",
    ast.Yield: "yield",
}
