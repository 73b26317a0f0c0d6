"""Kernels of level 2 as loop scripts: structured ops as loops and blocks, elements, conditions."""

from __future__ import annotations

import keyword
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from typing import cast

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Block, Operation, SSAValue

from stepwell.dialects.linalg_builder.support import symbol_arguments
from stepwell.dialects.sched import NAME, loop_names_of
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.tensor_ir.memory import slice_offsets
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.frontend.script.language import WORDS
from stepwell.frontend.script.write_signature import annotation_of, extent_of
from stepwell.frontend.script.write_uses import (
    element_text,
    grid_text,
    has_unit_steps,
    index_text,
    is_after,
    is_constant,
    is_pasted,
    is_zero,
    needs_memory,
    root_of,
    sum_text,
    tensor_type_of,
)
from stepwell.frontend.script.write_words import expression_of, plain_number, type_name
from stepwell.runtime.errors import InternalError, StepwellError

_PARALLEL, _SUMMED = "ijlmnpq", "krstuvw"
_STEP = "    "


def scripts_text(module: ModuleOp) -> str:
    """The kernels of a module as scripts, one after the other. Raises: StepwellError `script-syntax`."""
    kernels = [
        op for op in module.ops if isinstance(op, FuncOp) and (is_kernel(op) or op.sym_name.data != "main")
    ]
    if not kernels:
        what = "a script is a kernel of level 2, and the module has none"
        raise StepwellError(
            "script-syntax", module, what, help="write it with --emit linalg or --emit vector"
        )
    return "\n\n".join(_Writer(func).text() for func in kernels)


class _Writer:
    """Writes the body of a function."""

    def __init__(self, func: FuncOp):
        self._func = func
        self._lines: list[str] = []
        self._depth = 1
        self._taken = {*WORDS, *keyword.kwlist}
        self._names: dict[SSAValue, str] = {}
        self._slices: dict[SSAValue, tuple[SSAValue, Sequence[str]]] = {}
        """Slices of tensors: the tensor, and the offset along each dimension."""
        self._loops: Sequence[str] = ()
        """The names of the loops of the structured op around."""

    def text(self) -> str:
        """The function as a script."""
        func, block = self._func, self._func.body.block
        symbols = dict((value, name) for name, value in symbol_arguments(func))
        inputs = [argument for argument in block.args if argument not in symbols]
        parameters = [f"{self._name(a)}: Buffer[{annotation_of(func, n)}]" for n, a in enumerate(inputs)]
        for value, name in symbols.items():
            self._names[value] = extent_of(func, name, [self._names[a] for a in inputs])
        for op in block.ops:
            self._op(op)
        head = f"def {func.sym_name.data}({', '.join(parameters)}):"
        return "\n".join([head, *self._lines]) + "\n"

    def _name(self, value: SSAValue, hint: str | None = None) -> str:
        """A new name for a value."""
        plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in hint or value.name_hint or "v")
        plain = plain if plain[0].isalpha() else f"v{plain}"
        name, number = plain, 0
        while name in self._taken:
            name, number = f"{plain}_{number}", number + 1
        self._taken.add(name)
        self._names[value] = name
        return name

    def _line(self, text: str) -> None:
        self._lines.append(f"{_STEP * self._depth}{text}")

    @contextmanager
    def _inside(self, head: str) -> Generator[None]:
        self._line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def _op(self, op: Operation) -> None:
        """Write an op that is a statement; numbers that are used once are written where they are used."""
        match op:
            case tensor.EmptyOp():
                if any(needs_memory(use.operation, op.tensor) for use in op.tensor.uses):
                    self._alloc(op)
            case FillOp():
                self._fill(op)
            case IndexOp():
                self._names[op.results[0]] = self._loops[op.dim.value.data]
            case GenericOp():
                self._generic(op)
            case tensor.ExtractSliceOp():
                self._slice(op)
            case tensor.InsertSliceOp():
                if self._names.get(op.result) is None:
                    raise self._wordless(op)
            case tensor.DimOp():
                self._names[op.result] = f"{self._names[op.source]}.shape[{self._value(op.index)}]"
            case tensor.InsertOp():
                name = self._continued(op.dest, op.result)
                self._line(f"{name}[{self._indices(op.indices)}] = {self._plain(op.scalar)}")
            case scf.ForOp():
                self._for(op)
            case scf.IfOp():
                self._if(op)
            case scf.WhileOp():
                self._while(op)
            case ReturnOp():
                self._line(f"return {', '.join(self._names[value] for value in op.arguments)}")
            case _ if len(op.results) == 1 and not op.regions:
                self._number(op)
            case _:
                raise self._wordless(op)

    def _number(self, op: Operation) -> None:
        """Give a number a name, if it is used more than once or in another block."""
        value = op.results[0]
        uses = list(value.uses)
        is_constant = op.name == "arith.constant"
        if is_constant or (
            len(uses) == 1 and uses[0].operation.parent is op.parent and not isinstance(op, tensor.ExtractOp)
        ):
            return
        text = self._value(value)
        self._line(f"{self._name(value)} = {text}")

    def _wordless(self, op: Operation) -> StepwellError:
        help = (
            "--emit-script writes level 2 before tile-and-fuse: structured ops, elements, loops, conditions"
        )
        return StepwellError("script-syntax", op, f"a script has no word for {op.name}", help=help)

    def _value(self, value: SSAValue) -> str:
        """A number as an expression."""
        if (name := self._names.get(value)) is not None:
            return name
        op = value.owner
        if not isinstance(op, Operation):
            raise InternalError(None, f"a value has no name in the script: {value}")
        if isinstance(op, tensor.ExtractOp):
            return f"{self._names[op.tensor]}[{self._indices(op.indices)}]"
        text = expression_of(op, self._operands(op))
        if text is None:
            raise self._wordless(op)
        return text

    def _operands(self, op: Operation) -> list[str]:
        """The operands of an op as expressions; numbers have the type of an operand beside them."""
        is_known = [not is_constant(operand) for operand in op.operands]
        types = {o.type for o, known in zip(op.operands, is_known, strict=True) if known}
        return [
            self._plain(o) if o.type in types and not known else self._value(o)
            for o, known in zip(op.operands, is_known, strict=True)
        ]

    def _plain(self, value: SSAValue) -> str:
        """A number without a type, for an operand of known type."""
        number = plain_number(value.owner) if isinstance(value.owner, Operation) else None
        return self._value(value) if number is None else number

    def _indices(self, indices: Sequence[SSAValue]) -> str:
        return ", ".join(map(self._value, indices)) or "()"

    def _alloc(self, op: tensor.EmptyOp, filled: SSAValue | None = None) -> None:
        dynamic = iter(op.dynamic_sizes)
        type = tensor_type_of(op.tensor)
        sizes = [str(s) if s >= 0 else self._value(next(dynamic)) for s in type.get_shape()]
        hint = next(
            (r.name_hint for use in op.tensor.uses for r in use.operation.results if r.name_hint), "t"
        )
        shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
        made = op.tensor if filled is None else filled
        self._line(
            f'{self._name(made, made.name_hint or hint)} = alloc({shape}, "{type_name(type.element_type)}")'
        )

    def _continued(self, value: SSAValue, result: SSAValue) -> str:
        """The name of a tensor that an op changes; of a copy, where the tensor is needed afterwards."""
        name = self._names[value]
        op = result.owner
        assert isinstance(op, Operation)
        if value in self._func.body.block.args or any(is_after(use.operation, op) for use in value.uses):
            copy = self._name(result, result.name_hint or name)
            self._line(f"{copy} = copy({name})")
            return copy
        self._names[result] = name
        return name

    def _extent(self, view: Structured, loop: int) -> str:
        if (extent := view.extents[loop]) is not None:
            return str(extent)
        if (source := view.sources[loop]) is None:
            raise StepwellError("script-syntax", view.op, f"loop {loop} has no extent")
        value, axis = source
        base, _ = self._slices.get(value, (value, ()))
        if base is not value:
            raise StepwellError(
                "script-syntax", view.op, "a loop runs over a slice of a size known at run time"
            )
        return f"{self._names[value]}.shape[{axis}]"

    def _fill(self, op: FillOp) -> None:
        made = op.outputs[0].owner
        if isinstance(made, tensor.EmptyOp) and is_zero(op.inputs[0]):  # a tensor is zeros at first
            self._alloc(made, op.results[0])
            return
        name = self._continued(op.outputs[0], op.results[0])
        view, rank = Structured.of(op), len(tensor_type_of(op.results[0]).get_shape())
        if view is None:
            raise self._wordless(op)
        names = self._loop_names(["parallel"] * rank)
        with (
            self._inside(grid_text(names, [self._extent(view, d) for d in range(rank)]))
            if names
            else nullcontext()
        ):
            self._line(f"{name}[{', '.join(names) or '()'}] = {self._plain(op.inputs[0])}")
        self._taken -= {*names}

    def _loop_names(self, kinds: Sequence[str], given: Sequence[str] = ()) -> list[str]:
        """Names of loops; sums are k, r, s, …"""
        letters = {"parallel": iter(_PARALLEL), "reduction": iter(_SUMMED)}
        found: list[str] = []
        for position, kind in enumerate(kinds):
            name = given[position] if position < len(given) else next(letters[kind], f"i{position}")
            while name in self._taken:
                name = next(letters[kind], f"{name}_")
            self._taken.add(name)
            found.append(name)
        return found

    def _generic(self, op: GenericOp) -> None:
        """Write a structured op: as loops, or as a block where an axis is summed or it has a name."""
        view = Structured.of(op)
        if view is None:
            raise self._wordless(op)
        kinds = ["parallel" if is_parallel else "reduction" for is_parallel in view.parallel]
        loops = self._loop_names(kinds, loop_names_of(op))
        extents = [self._extent(view, d) for d in range(view.rank)]
        places = [[index_text(e, loops) for e in m.results] for m in view.maps]
        outs = [self._target(op, position) for position in range(len(op.results))]
        body, inputs = op.body.block, len(view.inputs)
        for position, argument in enumerate(body.args):
            name, offsets = outs[position - inputs] if position >= inputs else ("", ())
            self._names[argument] = (
                element_text(name, places[position], offsets) if name else self._read(op, position, places)
            )
        title = op.attributes.get(NAME)
        is_block = "reduction" in kinds or title is not None
        with self._inside(grid_text(loops, extents)) if loops else nullcontext():
            if is_block:
                name = f'"{title.data}"' if isinstance(title, StringAttr) else ""
                axes = [
                    f"{'spatial' if k == 'parallel' else 'reduce'}({loop})"
                    for k, loop in zip(kinds, loops, strict=True)
                ]
                axis_names = [f"v{loop}" for loop in loops]
                self._line(f"with block({name}) as b:")
                self._depth += 1
                self._line(f"{', '.join(axis_names)} = b.axes({', '.join(axes)})")
            self._body(
                body, loops, [element_text(n, p, o) for (n, o), p in zip(outs, places[inputs:], strict=True)]
            )
            self._depth -= is_block
        self._taken -= {*loops}

    def _read(self, op: GenericOp, position: int, places: Sequence[Sequence[str]]) -> str:
        value = op.operands[position]
        base, offsets = self._slices.get(value, (value, ()))
        name = self._names.get(base)
        if name is None:  # a tensor of which the extent alone counts
            return "0"
        return element_text(name, places[position], offsets)

    def _target(self, op: GenericOp, position: int) -> tuple[str, Sequence[str]]:
        """The name of the tensor that a result is, and the offsets of the result in it."""
        result, init = op.results[position], op.outputs[position]
        if is_pasted(result):
            last = next(iter(result.uses)).operation
            assert isinstance(last, tensor.InsertSliceOp)
            name = self._continued(last.dest, last.result)
            return name, [self._offset(o) for o in slice_offsets(last)]
        return self._continued(init, result), ()

    def _offset(self, offset: object) -> str:
        return str(offset) if isinstance(offset, int) else self._value(cast("SSAValue", offset))

    def _slice(self, op: tensor.ExtractSliceOp) -> None:
        if not has_unit_steps(op) or len(tensor_type_of(op.result).get_shape()) != len(
            tensor_type_of(op.source).get_shape()
        ):
            raise self._wordless(op)
        base, offsets = self._slices.get(
            op.source, (op.source, ["0"] * len(tensor_type_of(op.source).get_shape()))
        )
        own = [self._offset(offset) for offset in slice_offsets(op)]
        self._slices[op.result] = base, [sum_text(a, b) for a, b in zip(offsets, own, strict=True)]

    def _body(self, body: Block, loops: Sequence[str], targets: Sequence[str]) -> None:
        self._loops = loops
        for op in body.ops:
            if not isinstance(op, YieldOp):
                self._op(op)
                continue
            values = [self._plain(value) for value in op.operands]
            if len(values) > 1:  # each needs the elements of before
                names = [self._name(value) for value in op.operands]
                for name, value in zip(names, values, strict=True):
                    self._line(f"{name} = {value}")
                values = names
            for target, value in zip(targets, values, strict=True):
                self._line(f"{target} = {value}")

    def _for(self, op: scf.ForOp) -> None:
        """Write a loop, with a variable for each carried value."""
        block = op.body.block
        for init, argument, result in zip(op.iter_args, block.args[1:], op.results, strict=True):
            self._carry(init, argument, result)
        bounds = [self._value(bound) for bound in (op.lb, op.ub, op.step)]
        given = bounds if bounds[2] != "1" else bounds[:2] if bounds[0] != "0" else bounds[1:2]
        index = self._name(block.args[0], block.args[0].name_hint or "i")
        with self._inside(f"for {index} in range({', '.join(given)}):"):
            self._ops(block, [self._names[argument] for argument in block.args[1:]])

    def _carry(self, init: SSAValue, argument: SSAValue, result: SSAValue) -> None:
        if isinstance(init.type, TensorType):
            self._names[argument] = self._names[result] = self._continued(init, result)
            return
        name = self._name(argument, argument.name_hint or "s")
        self._names[result] = name
        self._line(f"{name} = {self._value(init)}")

    def _ops(self, block: Block, names: Sequence[str], *, is_silent: bool = False) -> None:
        """Write a body, and assignments of the values that it yields to names."""
        for op in block.ops:
            if not isinstance(op, scf.YieldOp):
                self._op(op)
                continue
            pairs = list(zip(names, map(self._value, op.operands), op.operands, strict=True))
            moved = [(name, text) for name, text, _ in pairs if name != text]
            if any(isinstance(value.type, TensorType) and name != text for name, text, value in pairs):
                raise self._wordless(op)
            if moved:
                self._line(f"{', '.join(n for n, _ in moved)} = {', '.join(v for _, v in moved)}")
            elif len(block.ops) == 1 and not is_silent:
                self._line("pass")

    def _if(self, op: scf.IfOp) -> None:
        names = [
            self._continued(root_of(op, position), result)
            if isinstance(result.type, TensorType)
            else self._name(result)
            for position, result in enumerate(op.results)
        ]
        with self._inside(f"if {self._value(op.cond)}:"):
            self._ops(op.true_region.block, names)
        if len(op.false_region.block.ops) > 1 or any(not isinstance(r.type, TensorType) for r in op.results):
            with self._inside("else:"):
                self._ops(op.false_region.block, names)
        else:
            self._ops(op.false_region.block, names, is_silent=True)

    def _while(self, op: scf.WhileOp) -> None:
        """Write a loop whose condition is an expression of its carried values."""
        test, body = op.before_region.block, op.after_region.block
        condition = test.last_op
        if not isinstance(condition, scf.ConditionOp) or list(condition.operands[1:]) != list(test.args):
            raise self._wordless(op)
        for init, *values in zip(op.arguments, test.args, body.args, op.results, strict=True):
            name = self._name(values[0], values[0].name_hint or "s")
            self._names |= dict.fromkeys(values, name)
            self._line(f"{name} = {self._value(init)}")
        with self._inside(f"while {self._value(condition.condition)}:"):
            self._ops(body, [self._names[argument] for argument in body.args])
