"""
The text of a function.

An expression with one use, in the same block, is written at its use, unless memory that it reads is written
in between. Every other expression is a `const` variable of the block. So the lines look as a person would
write them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.emitc import EmitC_ArrayType, EmitC_CallOpaqueOp, EmitC_PointerType
from xdsl.ir import Block, Operation, Region, SSAValue

from stepwell.dialects import emitc
from stepwell.dialects.emitc import expressions
from stepwell.lowering.emit_c.expressions import MEMORY, PRIMARY, Expr, expression
from stepwell.lowering.emit_c.pointers import Written
from stepwell.lowering.emit_c.types import Names, c_type, declared
from stepwell.runtime.errors import StepwellError

EFFECTS = ("allocate", "call_host")
"""Helpers that do more than to compute a value."""
_LONGEST = 90
_COLUMNS = 100
COMMENT = "comment"


class FunctionText:
    """The lines of a function under construction."""

    def __init__(self, op: emitc.FuncOp, written: Written, names: Names, globals: Mapping[str, str]):
        self._op, self._written, self._names, self._globals = op, written, names, globals
        self._lines: list[str] = []
        self._depth = 1
        self._known: dict[SSAValue, Expr] = {}
        """The expressions of values that have a name, or may be written any number of times."""
        self._pending: dict[SSAValue, Expr] = {}
        """Those of values that their only user writes."""
        self._undeclared: set[SSAValue] = set()

    def text(self) -> str:
        """The function with its comment."""
        for arg in self._op.body.block.args:
            self._known[arg] = Expr(self._names.new(arg.name_hint or "x"))
        for arg in self._op.body.block.args:
            if arg.first_use is None:
                self._line(f"(void){self._known[arg].text};")
        self._block(self._op.body.block)
        return "\n".join([*self._comment(), f"{self.signature()} {{", *self._lines, "}"]) + "\n"

    def signature(self) -> str:
        """The declaration, without its semicolon."""
        op = self._op
        result = c_type(op.function_type.outputs.data[0]) if op.function_type.outputs.data else "void"
        arguments = [
            declared(arg.type, self._known[arg].text, const=self._is_const(arg)) for arg in op.body.block.args
        ]
        specifiers = cast("ArrayAttr[StringAttr]", op.attributes.get("specifiers", ArrayAttr([])))
        words = [word.data for word in specifiers]
        head = " ".join([*words, result, f"{op.sym_name.data}("])
        return f"{head}{_wrapped(arguments, len(head)) or 'void'})"

    def _comment(self) -> list[str]:
        nodes = self._op.attributes.get(COMMENT)
        if not isinstance(nodes, ArrayAttr):
            return []
        names = [comment_text(node.data) for node in cast("ArrayAttr[StringAttr]", nodes)]
        lines, line = list[str](), "/* "
        for number, name in enumerate(names):
            part = name + (", " if number + 1 < len(names) else "")
            if len(line) + len(part) > _COLUMNS and line.strip(" /*"):
                lines.append(line.rstrip())
                line = "   "
            line += part
        return [*lines, f"{line} */"]

    def _is_const(self, pointer: SSAValue) -> bool:
        return isinstance(pointer.type, EmitC_PointerType) and pointer not in self._written

    # Statements

    def _line(self, text: str) -> None:
        self._lines.append(f"{'  ' * self._depth}{text}")

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self._statement(op)

    def _nested(self, region: Region) -> None:
        self._depth += 1
        if region.first_block is not None:
            self._block(region.first_block)
        self._depth -= 1

    def _statement(self, op: Operation) -> None:
        match op:
            case emitc.VariableOp():
                self._variable(op)
            case emitc.AssignOp():
                self._assign(op)
            case emitc.LoadOp():
                place = self._operand(op.operand)
                self._define(op.result, Expr(place.text, PRIMARY, place.reads | {self._root(op.operand)}))
            case emitc.GetGlobalOp(global_name=name):
                self._known[op.result] = Expr(self._globals[name.string_value()])
            case emitc.CallOp(callee=callee, arguments=arguments):
                shown = ", ".join(self._operand(value).text for value in arguments)
                self._effect(None)
                self._line(f"{callee.string_value()}({shown});")
            case emitc.VerbatimOp(value=value, fmt_args=arguments):
                shown = [self._operand(each).text for each in arguments]
                self._effect(None)
                self._line(_filled(value.data, shown))
            case emitc.ForOp() | emitc.IfOp() | emitc.DoOp():
                self._structured(op)
            case emitc.ReturnOp(operand=value):
                if value is not None:
                    self._line(f"return {self._operand(value).text};")
            case emitc.YieldOp():
                pass
            case _:
                self._expression(op)

    def _variable(self, op: emitc.VariableOp) -> None:
        name = self._names.new(op.result.name_hint or "v")
        self._known[op.result] = Expr(name)
        type = op.result.type
        if isinstance(type, EmitC_ArrayType):
            self._line(f"{c_type(type.element_type)} {name}[{type.get_shape()[0]}];")
        elif _is_assigned_first(op):
            self._undeclared.add(op.result)
        else:
            self._line(f"{declared(type.value_type, name)};")

    def _assign(self, op: emitc.AssignOp) -> None:
        value, place = self._operand(op.value), self._operand(op.var)
        self._effect(self._root(op.var))
        if op.var in self._undeclared:
            self._undeclared.remove(op.var)
            self._line(f"{declared(op.value.type, place.text)} = {value.text};")
        else:
            self._line(f"{place.text} = {value.text};")

    def _structured(self, op: emitc.ForOp | emitc.IfOp | emitc.DoOp) -> None:
        if isinstance(op, emitc.ForOp):
            self._for(op)
        elif isinstance(op, emitc.IfOp):
            condition = self._operand(op.condition).text
            self._effect(None)
            self._line(f"if ({condition}) {{")
            self._nested(op.then_region)
            if (block := op.else_region.first_block) is not None and len(block.ops) > 1:
                self._line("} else {")
                self._nested(op.else_region)
            self._line("}")
        else:
            self._effect(None)
            self._line("do {")
            self._nested(op.body)
            last = cast(emitc.YieldOp, op.condition.block.last_op)
            for inner in op.condition.block.ops:
                self._statement(inner)
            self._line(f"}} while ({self._operand(cast(SSAValue, last.value)).text});")

    def _for(self, op: emitc.ForOp) -> None:
        index = op.body.block.args[0]
        lower = self._operand(op.lower).text
        upper, step = (self._bound(value) for value in (op.upper, op.step))
        self._effect(None)
        name = self._names.new(index.name_hint or "i")
        self._known[index] = Expr(name)
        advance = f"{name}++" if step == "1" else f"{name} += {step}"
        self._line(f"for (ptrdiff_t {name} = {lower}; {name} < {upper}; {advance}) {{")
        self._nested(op.body)
        self._line("}")

    def _bound(self, value: SSAValue) -> str:
        """A value that is read in each iteration: a number or a name."""
        found = self._operand(value)
        if found.precedence == PRIMARY and not found.reads and "(" not in found.text:
            return found.text
        name = self._names.new(value.name_hint or "end")
        self._line(f"const {declared(value.type, name)} = {found.text};")
        self._known[value] = Expr(name)
        return name

    # Expressions

    def _expression(self, op: Operation) -> None:
        found = expression(op, self._operand, self._written.__contains__)
        if found is None:
            raise StepwellError("unsupported", op, f"{op.name} is no statement of C")
        result = op.results[0]
        if isinstance(op, emitc.ConstantOp | emitc.LiteralOp | emitc.SubscriptOp):
            self._known[result] = found
        elif isinstance(op, EmitC_CallOpaqueOp) and op.callee.data in EFFECTS:
            self._effect(None)
            self._declare(result, found)
        else:
            self._define(result, found)

    def _define(self, value: SSAValue, found: Expr) -> None:
        """Keep an expression for its only user, or give it a name."""
        use = value.first_use
        if use is None:
            return
        is_pointer = isinstance(value.type, EmitC_PointerType)
        is_near = use.operation.parent is cast(Operation, value.owner).parent
        once = value.has_one_use() and is_near and len(found.text) <= _LONGEST
        if once and not (is_pointer and not isinstance(use.operation, emitc.CallOp | emitc.CastOp)):
            self._pending[value] = found
        else:
            self._declare(value, found)

    def _declare(self, value: SSAValue, found: Expr) -> None:
        """Give a value a name; a pointer with a name keeps its own."""
        if isinstance(value.type, EmitC_PointerType) and found.text.isidentifier():
            self._known[value] = found
            return
        name = self._names.new(value.name_hint or ("p" if isinstance(value.type, EmitC_PointerType) else "v"))
        if isinstance(value.type, EmitC_PointerType):
            text = declared(value.type, f"const {name}", const=self._is_const(value))
        else:
            text = f"const {declared(value.type, name)}"
        self._line(f"{text} = {found.text};")
        self._known[value] = Expr(name)

    def _operand(self, value: SSAValue) -> Expr:
        if (found := self._pending.pop(value, None)) is not None:
            return found
        return self._known[value]

    def _effect(self, root: object | None) -> None:
        """Give names to expressions that read what the next statement writes (None: anything)."""
        late = [v for v, found in self._pending.items() if (root in found.reads if root else found.reads)]
        for value in late:
            self._declare(value, self._pending.pop(value))

    def _root(self, lvalue: SSAValue) -> object:
        """The variable that an lvalue is of, or `MEMORY`."""
        owner = lvalue.owner
        if isinstance(owner, expressions.SubscriptOp):
            base = owner.value
            return base if isinstance(base.owner, emitc.VariableOp) else MEMORY
        return lvalue


def _filled(text: str, arguments: Sequence[str]) -> str:
    """A text with an argument in the place of each `{}`."""
    parts = text.split("{}")
    return "".join(part + argument for part, argument in zip(parts, [*arguments, ""], strict=True))


def _is_assigned_first(op: emitc.VariableOp) -> bool:
    """Whether the first use of a variable is an assignment in its own block."""
    other = op.next_op
    while other is not None and not other.regions:
        if isinstance(other, emitc.AssignOp) and other.var is op.result:
            return True
        if op.result in other.operands:
            return False
        other = other.next_op
    return False


def _wrapped(parts: Sequence[str], column: int) -> str:
    """Arguments in lines of at most 100 columns."""
    lines, width = list[str](), column
    text = ""
    for number, part in enumerate(parts):
        piece = part + (", " if number + 1 < len(parts) else "")
        if width + len(piece) > _COLUMNS and text:
            lines.append(text.rstrip())
            text, width = "    ", 4
        text += piece
        width += len(piece)
    return "\n".join([*lines, text])


def comment_text(name: str) -> str:
    """A name as part of a comment."""
    shown = "".join(c if c.isprintable() and c != "\\" else "?" for c in name)
    return shown.replace("*/", "* /").replace("/*", "/ *")
