"""Statements of scripts as ops of level 2: loops that carry tensors, branches, elements that are inserted."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FileLineColLoc,
    IndexType,
    IntAttr,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Attribute, Region, SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.linalg_builder.scalars import signless
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.sched import ACCESS, AXIS, LANES, NAME, PARALLEL, UNROLL
from stepwell.dialects.types import check_extents, int_attr
from stepwell.frontend.script import language
from stepwell.frontend.script.blocks import block_of
from stepwell.frontend.script.carried import (
    carried_in,
    dtypes_of,
    enter,
    joined_names,
    leave,
    stored_value,
    type_of_both,
)
from stepwell.frontend.script.expressions import Expressions
from stepwell.frontend.script.loops import Bounds, loops_of
from stepwell.frontend.script.scope import Contents, Scope
from stepwell.frontend.script.source import Source
from stepwell.frontend.te import functions as te
from stepwell.frontend.te.bounds import positive_extents
from stepwell.frontend.te.expressions import Expr, Number, Operand, Read, Size, expression, is_index
from stepwell.frontend.te.scalar_code import element_named
from stepwell.frontend.te.tensors import Tensor
from stepwell.runtime.dims import Dim

_HINTS = {"parallel": PARALLEL, "vectorized": LANES, "unrolled": UNROLL}
MOST_COPIES = 4096


class Statements:
    """
    Emits the statements of a script into the block of a scope.

    Args: `call` emits a call of another script, given its node, the scope, and the called script.
    """

    def __init__(self, source: Source, call: Callable[[ast.Call, Scope, object], bool]):
        self._source, self._call = source, call
        self._copies = 1

    def run(self, statements: Sequence[ast.stmt], scope: Scope) -> None:
        """Emit statements. Raises: StepwellError `script-syntax`, `te-type`, `te-bounds`."""
        for node in statements:
            last = scope.block.last_op
            self._statement(node, scope)
            op = scope.block.first_op if last is None else last.next_op
            while op is not None:
                adopt_location(op, self._location(node))
                op = op.next_op

    def _location(self, node: ast.stmt) -> FileLineColLoc:
        place = self._source.line(node), node.col_offset + 1
        return FileLineColLoc(StringAttr(self._source.file), *map(IntAttr, place))

    def _statement(self, node: ast.stmt, scope: Scope) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value, scope)
            case ast.AugAssign(target=ast.Name() | ast.Subscript() as target, op=op, value=value):
                left = deepcopy(target)
                left.ctx = ast.Load()
                self._assign(target, ast.copy_location(ast.BinOp(left, op, value), node), scope)
            case ast.For(orelse=[]):
                self._for(node, scope)
            case ast.While(orelse=[]):
                self._while(node, scope)
            case ast.If():
                self._if(node, scope)
            case ast.With():
                message = "a block is the only statement of its loops, which are one `for` over grid"
                raise self._source.error_at("script-syntax", node, message)
            case ast.Expr(value=ast.Call() as call):
                if not self._call(call, scope, self._source.resolved(call.func)):
                    raise self._source.foreign(node, f"call `{ast.unparse(call.func)}(…)`")
            case ast.Return():
                raise self._source.error_at(
                    "script-syntax", node, "`return` is the last statement of a script"
                )
            case _:
                raise self._source.foreign(node, f"`{ast.unparse(node).splitlines()[0].split()[0]}`")

    def _assign(self, target: ast.expr, value: ast.expr, scope: Scope) -> None:
        match target:
            case ast.Subscript():
                self._store(target, value, scope)
            case ast.Name(id=name):
                if not self._makes_tensor(name, value, scope):
                    self._set(target, name, Expressions(self._source, scope).value(value), scope)
            case ast.Tuple(elts=targets) if isinstance(value, ast.Tuple) and len(value.elts) == len(targets):
                numbers = [Expressions(self._source, scope).value(each) for each in value.elts]
                for each, number in zip(targets, numbers, strict=True):
                    if not isinstance(each, ast.Name):
                        raise self._source.foreign(each, "assignment of several elements")
                    self._set(each, each.id, number, scope)
            case _:
                raise self._source.foreign(target, f"assignment to `{ast.unparse(target)}`")

    def _set(self, node: ast.AST, name: str, value: Operand, scope: Scope) -> None:
        """Give a name a number; one that depends on indices alone stays an expression."""
        known = scope.names.get(name)
        if isinstance(known, Contents):
            raise self._source.error_at("te-type", node, f"{name} is a tensor, found a number for it")
        if not isinstance(value, Expr) or is_index(value):
            scope.names[name] = value
            return
        stored = scope.code().stored(value)
        stored.name_hint = stored.name_hint or name
        scope.define(name, value.dtype, stored)

    def _makes_tensor(self, name: str, value: ast.expr, scope: Scope) -> bool:
        """Whether a value is a new tensor, which the name gets then."""
        expressions = Expressions(self._source, scope)
        if isinstance(value, ast.Name) and isinstance(scope.names.get(value.id), Contents):
            help = f"copy({value.id}) is a tensor of its own"
            raise self._source.error_at("te-type", value, f"{value.id} is a tensor, and has one name", help)
        if not isinstance(value, ast.Call):
            return False
        word = self._source.resolved(value.func)
        if word is language.copy and len(value.args) == 1:
            contents = expressions.contents(value.args[0])
            made = Tensor(name, contents.tensor.dims, contents.tensor.dtype)
            scope.names[name] = Contents(made, contents.value)
        elif word is language.alloc:
            scope.names[name] = self._allocated(name, value, expressions, scope)
        return word is language.alloc or word is language.copy

    def _allocated(self, name: str, node: ast.Call, expressions: Expressions, scope: Scope) -> Contents:
        given: dict[str, str | None] = {
            "dtype": "float32",
            **{k.arg: _text(k.value) for k in node.keywords if k.arg},
        }
        if not node.args or len(node.args) > 3 or None in given.values():
            message = 'alloc has extents and the name of a type: alloc((4, 8), "f32")'
            raise self._source.error_at("script-syntax", node, message)
        if len(node.args) > 1:
            given["dtype"] = _text(node.args[1]) or ""
        shape = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else [node.args[0]]
        dims = tuple(self._extent(each, expressions) for each in shape)
        word = given["dtype"] or ""
        dtype = te.dtype_named(language.SHORT_TYPES.get(word, word))
        made = Tensor(name, dims, dtype)
        return Contents(made, zeros(made, scope))

    def _extent(self, node: ast.expr, expressions: Expressions) -> Dim:
        match expressions.value(node):
            case Size(dim=dim):
                return dim
            case int(number) if number >= 0:
                return Dim.of(number)
            case other:
                message = f"an extent is a number or a size of a shape, found {other}"
                raise self._source.error_at("te-type", node, message)

    def _store(self, target: ast.Subscript, value: ast.expr, scope: Scope) -> None:
        """Insert an element; if its index can be out of bounds, only when it is not."""
        expressions = Expressions(self._source, scope)
        contents = expressions.contents(target.value)
        element = expressions.access(target, contents)
        number = expressions.typed(value, like=element)
        if number.dtype != element.dtype:
            help = f'cast({ast.unparse(value)}, "{element.dtype}") converts it'
            message = f"{contents.tensor.name} has elements of {element.dtype}, found {number.dtype}"
            raise self._source.error_at("te-type", value, message, help)
        expressions.expect_inside(target, element)
        code = scope.code()
        stored = code.stored(number)
        at = [code.index(index) for index in element.indices]
        loose = code.loose_axes(element)
        accesses = scope.accesses if loose else None

        def insert(inside: Scope) -> SSAValue:
            op = tensor.InsertOp(stored, contents.value, at)
            if accesses is not None:
                op.attributes[ACCESS] = int_attr(accesses.number_of(element))
            inside.block.add_op(op)
            return op.result

        is_led_inside = bool(loose) and accesses is None
        result = (
            self._if_inside(element, loose, contents.value, insert, scope) if is_led_inside else insert(scope)
        )
        result.name_hint = contents.tensor.name
        assert isinstance(target.value, ast.Name)
        scope.names[target.value.id] = Contents(contents.tensor, result)

    @staticmethod
    def _if_inside(
        element: Read, axes: Sequence[int], old: SSAValue, insert: Callable[[Scope], SSAValue], scope: Scope
    ) -> SSAValue:
        """The tensor with an element where indices are inside, else as it is."""
        sizes = [Size(dim) if not dim.is_static else dim.value for dim in element.tensor.dims]
        pairs = [(element.indices[axis], sizes[axis]) for axis in axes]
        tests = [test for index, size in pairs for test in (index >= 0, index < size)]
        condition = scope.code().value(te.conjunction(*tests))
        then, other = scope.inside(), scope.inside()
        then.block.add_op(scf.YieldOp(insert(then)))
        other.block.add_op(scf.YieldOp(old))
        op = scf.IfOp(condition, [old.type], Region(then.block), Region(other.block))
        scope.block.add_op(op)
        return op.results[0]

    def _for(self, node: ast.For, scope: Scope) -> None:
        loops = loops_of(node, self._source, scope)
        bounds = [loop for loop in loops if isinstance(loop, Bounds)]
        if len(bounds) == len(loops) and loops:
            if (block := block_of(node, bounds, self._source, scope)) is not None:
                nest = [(b, {AXIS: StringAttr("spatial")}) for b in block.loops(summed=False)]
                named = {NAME: StringAttr(block.name)} if block.name else {}
                if block.init:
                    self._nest(nest, block.init, scope, node, {}, block.indices)
                each = [(b, {AXIS: StringAttr(kind)}) for b, kind in block.kinds()]
                self._nest(each, block.body, scope, node, named, block.indices)
                return
            hints = [(b, {_HINTS[b.word]: UnitAttr()} if b.word in _HINTS else {}) for b in bounds]
            self._nest(hints, node.body, scope, node)
            return
        assert isinstance(node.target, ast.Name)
        self._copies *= max(1, len(loops))
        if self._copies > MOST_COPIES:
            raise self._source.error_at("script-syntax", node, f"more than {MOST_COPIES} copies of a body")
        for number in (loop for loop in loops if not isinstance(loop, Bounds)):
            scope.names[node.target.id] = number
            self.run(node.body, scope)
        self._copies //= max(1, len(loops))

    def _nest(
        self,
        loops: Sequence[tuple[Bounds, Mapping[str, Attribute]]],
        body: Sequence[ast.stmt],
        scope: Scope,
        node: ast.stmt,
        named: Mapping[str, Attribute] | None = None,
        names: dict[str, str] | None = None,
    ) -> None:
        """Emit a loop and the loops inside, with the assigned names as carried values."""
        if not loops:
            scope.names |= {
                name: scope.names[index] for name, index in (names or {}).items() if index in scope.names
            }
            self.run(body, scope)
            return
        (bounds, hints), *rest = loops
        carried = carried_in(self._source, body, scope, node, {loop.name for loop, _ in loops})
        dtypes = dtypes_of(carried, scope, lambda inside: self._into(inside, bounds, rest, body, node, names))
        starts = [stored_value(self._source, name, dtypes.get(name), scope, node) for name in carried]
        extent = self._iterations(bounds, scope)
        emit = IRBuilder.at_end(scope.block)
        inside = scope.inside(is_certain=bounds.extent is None)
        index = inside.block.insert_arg(IndexType(), 0)
        index.name_hint = bounds.name
        inside.axes[bounds.axis] = index
        enter(inside, carried, dtypes, scope, starts)
        self._into(inside, bounds, rest, body, node, names)
        ends = [stored_value(self._source, name, dtypes.get(name), inside, node) for name in carried]
        inside.block.add_op(scf.YieldOp(*ends))
        low, one = emit.materialize(0), emit.materialize(1)
        op = scf.ForOp(low, extent, one, starts, Region(inside.block))
        op.attributes |= {**hints, **(named or {})}
        scope.block.add_op(op)
        leave(scope, carried, dtypes, op.results)

    def _into(
        self,
        inside: Scope,
        bounds: Bounds,
        rest: Sequence[tuple[Bounds, Mapping[str, Attribute]]],
        body: Sequence[ast.stmt],
        node: ast.stmt,
        names: dict[str, str] | None,
    ) -> None:
        """Emit the body of a loop into the scope of an iteration."""
        inside.names[bounds.name] = bounds.index
        inside.positive = {**inside.positive, **positive_extents([bounds.axis])}
        self._nest(rest, body, inside, node, names=names)

    @staticmethod
    def _iterations(bounds: Bounds, scope: Scope) -> SSAValue:
        if bounds.extent is not None:
            return scope.code().index(bounds.extent)
        extent = bounds.axis.extent
        return scope.code().index(
            expression(extent) if not extent.is_static else Number(extent.value, "int64")
        )

    def _while(self, node: ast.While, scope: Scope) -> None:
        carried = carried_in(self._source, node.body, scope, node, set())
        if tensors := [name for name in carried if isinstance(scope.names[name], Contents)]:
            message = f"a `while` assigns numbers, found elements of {tensors[0]}"
            help = "keep the number in a name, and write the element after the loop"
            raise self._source.error_at("script-syntax", node, message, help)
        dtypes = dtypes_of(carried, scope, lambda inside: self.run(node.body, inside))
        starts = [stored_value(self._source, name, dtypes[name], scope, node) for name in carried]
        test, body = scope.inside(is_certain=False), scope.inside(is_certain=False)
        enter(test, carried, dtypes, scope, starts)
        condition = self._condition(node.test, test)
        test.block.add_op(scf.ConditionOp(condition, *test.block.args))
        enter(body, carried, dtypes, scope, starts)
        self.run(node.body, body)
        body.block.add_op(
            scf.YieldOp(*[stored_value(self._source, name, dtypes[name], body, node) for name in carried])
        )
        types = [start.type for start in starts]
        op = scf.WhileOp(starts, types, Region(test.block), Region(body.block))
        scope.block.add_op(op)
        leave(scope, carried, dtypes, op.results)

    def _condition(self, node: ast.expr, scope: Scope) -> SSAValue:
        condition = Expressions(self._source, scope).condition(node)
        return scope.code().value(Number(condition, "bool") if isinstance(condition, bool) else condition)

    def _if(self, node: ast.If, scope: Scope) -> None:
        condition = Expressions(self._source, scope).condition(node.test)
        if isinstance(condition, bool):
            self.run(node.body if condition else node.orelse, scope)
            return
        test = scope.code().value(condition)
        sides = [scope.inside(is_certain=False) for _ in range(2)]
        for side, body in zip(sides, (node.body, node.orelse), strict=True):
            self.run(body, side)
        names = joined_names(node, sides, scope)
        dtypes = {name: type_of_both(name, sides) for name in names}
        ends = [
            [stored_value(self._source, name, dtypes[name], side, node) for name in names] for side in sides
        ]
        for side, values in zip(sides, ends, strict=True):
            side.block.add_op(scf.YieldOp(*values))
        types = [value.type for value in ends[0]]
        op = scf.IfOp(test, types, Region(sides[0].block), Region(sides[1].block))
        scope.block.add_op(op)
        for name in names:
            scope.names.setdefault(name, sides[0].names[name])
        leave(scope, names, {n: d for n, d in dtypes.items() if d is not None}, op.results)


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def plain_type(made: Tensor) -> TensorType[Attribute]:
    """The type of a tensor in a kernel: symbols are in the attributes of its arguments."""
    element = element_named(made.dtype)
    check_extents(element, made.dims)
    return TensorType(signless(element), [d.value if d.is_static else DYNAMIC_INDEX for d in made.dims])


def zeros(made: Tensor, scope: Scope) -> SSAValue:
    """A new tensor of zeros."""
    type = plain_type(made)
    dynamic = [scope.code().index(Size(dim)) for dim in made.dims if not dim.is_static]
    empty = tensor.EmptyOp(dynamic, type)
    zero = IRBuilder.at_end(scope.block).number(0, type.element_type)
    scope.block.add_op(empty)
    fill = FillOp([zero], [empty.tensor], [empty.tensor.type])
    scope.block.add_op(fill)
    fill.results[0].name_hint = made.name
    return fill.results[0]
