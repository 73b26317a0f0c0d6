"""The body of a kernel as statements: a value each, loops with variables for what they carry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.dialects import gpu
from stepwell.lowering.bufferize import groups_of, memref_of
from stepwell.lowering.emit_source.language import ORDERED, SIGNED, Language, Parts, width_of
from stepwell.lowering.emit_source.names import Names
from stepwell.lowering.emit_source.vectors import Vectors
from stepwell.lowering.emit_source.views import Term, View, dense, plus, times
from stepwell.runtime.errors import StepwellError

_AXES = ("x", "y", "z")


class Walk:
    """The statements of one kernel, in a language."""

    def __init__(self, language: Language, parts: Parts, kernel: Operation):
        self.language, self.parts = language, parts
        self.names = Names(language.reserved | frozenset(language.helpers))
        self.values: dict[SSAValue, str] = {}
        self.views: dict[SSAValue, View] = {}
        self.at = kernel
        self._depth = 1
        self._handlers: dict[type[Operation], Callable[[Any], None]] = {
            arith.ConstantOp: self._constant,
            arith.CmpiOp: self._compare_integers,
            arith.CmpfOp: self._compare_floats,
            memref.LoadOp: self._load,
            memref.StoreOp: self._store,
            memref.AllocaOp: self._alloca,
            memref.AllocOp: self._alloca,
            memref.DimOp: self._dim,
            memref.CastOp: self._same_view,
            memref.SubviewOp: self._subview,
            memref.ExpandShapeOp: self._expand,
            memref.CollapseShapeOp: self._collapse,
            scf.ForOp: self._for,
            scf.IfOp: self._if,
            scf.WhileOp: self._while,
            scf.ParallelOp: self._parallel,
            gpu.BarrierOp: self._barrier,
            gpu.BlockDimOp: self._block_dim,
            gpu.GlobalIdOp: self._global_id,
            **Vectors(language, self.names, self.values, self.views, self._line).handlers(),
        }

    def block(self, block: Block) -> None:
        """Write the ops of a block, without its terminator's values."""
        for op in block.ops:
            if op.name in (
                "gpu.return",
                "scf.yield",
                "scf.reduce",
                "scf.condition",
                "memref.assume_alignment",
            ):
                continue
            self.at = op
            handler = next((self._handlers[c] for c in type(op).__mro__ if c in self._handlers), None)
            if handler is not None:
                handler(op)
            elif op.name in self.language.positions:
                self._position(op)
            else:
                self._expression(op)

    def element(self, type: Attribute) -> str:
        """The type of elements in memory of a thread or of a block. Raises: StepwellError `unsupported`."""
        return self.language.type(type, self.at)

    def declare_array(self, value: SSAValue, op: Operation) -> None:
        """Declare memory of a thread. Raises: StepwellError `unsupported`."""
        type = memref_of(value)
        if DYNAMIC_INDEX in type.get_shape():
            raise StepwellError("unsupported", op, "memory of a thread has a size that is not known")
        name, size = self.names.of(value), 1
        for extent in type.get_shape():
            size *= extent
        self._line(self.language.array(name, self.element(type.element_type), size))
        self.views[value] = dense(name, type.get_shape())

    def _line(self, text: str) -> None:
        self.parts.lines.append("  " * self._depth + text)

    def _text(self, value: SSAValue) -> str:
        return self.values[value]

    def _define(self, result: SSAValue, text: str) -> None:
        """Give a name to a value."""
        self.values[result] = name = self.names.of(result)
        self._line(self.language.let(name, self.language.type(result.type, self.at), text))

    def _expression(self, op: Operation) -> None:
        """The only result of an op by the language's spelling. Raises: StepwellError `unsupported-op`."""
        template = self.language.template(op)
        if template is None or len(op.results) != 1 or op.regions:
            raise StepwellError("unsupported-op", op, f"{self.language.name} has no spelling of {op.name}")
        if op.name == "arith.xori" and op.results[0].type == IntegerType(1):
            template = "({0} != {1})"
        type = op.results[0].type
        operands = [self._text(value) for value in op.operands]
        text = template.format(
            *operands,
            T=self.language.type(type, op),
            U=self.language.unsigned(type),
            V=self.language.unsigned(op.operands[0].type),
        )
        self._define(op.results[0], text)

    def _constant(self, op: arith.ConstantOp) -> None:
        """Constants have no name: each use has the constant itself."""
        attribute, type = op.value, op.result.type
        if not isinstance(attribute, IntegerAttr | FloatAttr):
            raise StepwellError("unsupported", op, f"{self.language.name} has no constants of {type}")
        self.language.type(type, op)
        value = attribute.value.data
        is_bool = type == IntegerType(1)
        self.values[op.result] = self.language.literal(bool(value) if is_bool else value, type, self.parts)

    def _compare_integers(self, op: arith.CmpiOp) -> None:
        predicate = SIGNED[op.predicate.value.data]
        a, b = self._text(op.lhs), self._text(op.rhs)
        self._define(op.result, self.language.compare_integers(predicate, a, b, op.lhs.type))

    def _compare_floats(self, op: arith.CmpfOp) -> None:
        predicate = ORDERED[op.predicate.value.data]
        self._define(
            op.result,
            self.language.comparison(predicate, self._text(op.lhs), self._text(op.rhs), op.lhs.type),
        )

    def _position(self, op: Any) -> None:
        dimension = getattr(op, "dimension", None)  # a position in a subgroup has none
        axis = 0 if dimension is None else _AXES.index(str(dimension.data))
        spelling = self.language.positions[op.name]
        self._define(op.result, spelling.format(axis=_AXES[axis], number=axis))

    def _block_dim(self, op: gpu.BlockDimOp) -> None:
        self.values[op.result] = str(self.parts.block[_AXES.index(str(op.dimension.data))])

    def _global_id(self, op: gpu.GlobalIdOp) -> None:
        axis = _AXES.index(str(op.dimension.data))
        block, thread = (
            self.language.positions[name].format(axis=_AXES[axis], number=axis)
            for name in ("gpu.block_id", "gpu.thread_id")
        )
        self._define(op.result, f"{block} * {self.parts.block[axis]} + {thread}")

    def _barrier(self, op: gpu.BarrierOp) -> None:
        self._line(self.language.barrier)

    # Memory

    def _load(self, op: memref.LoadOp) -> None:
        view = self.views[op.memref]
        place = view.place([self._text(index) for index in op.indices])
        self._define(op.res, self.language.load(view, place))

    def _store(self, op: memref.StoreOp) -> None:
        view = self.views[op.memref]
        place = view.place([self._text(index) for index in op.indices])
        self._line(self.language.store(view, place, self._text(op.value)))

    def _alloca(self, op: memref.AllocaOp | memref.AllocOp) -> None:
        self.declare_array(op.memref, op)

    def _dim(self, op: memref.DimOp) -> None:
        position = self._text(op.index)
        if not position.isdecimal():
            raise StepwellError("unsupported", op, "memref.dim of a dimension that is not constant")
        self.values[op.result] = str(self.views[op.source].sizes[int(position)])

    def _same_view(self, op: memref.CastOp) -> None:
        self.views[op.dest] = self.views[op.source]

    def _subview(self, op: memref.SubviewOp) -> None:
        view = self.views[op.source]
        dynamic = iter([*op.offsets, *op.sizes, *op.strides])
        offsets, sizes, steps = (
            [self._text(next(dynamic)) if n == DYNAMIC_INDEX else n for n in numbers.get_values()]
            for numbers in (op.static_offsets, op.static_sizes, op.static_strides)
        )
        offset: Term = view.offset
        for each, stride in zip(offsets, view.strides, strict=True):
            offset = plus(offset, times(each, stride))
        strides = [times(step, stride) for step, stride in zip(steps, view.strides, strict=True)]
        kept = list(zip(sizes, strides, strict=True))
        rank = len(memref_of(op.result).get_shape())
        for pair in list(kept):
            if len(kept) > rank and pair[0] == 1:
                kept.remove(pair)
        shape, strides = [size for size, _ in kept], [stride for _, stride in kept]
        self.views[op.result] = replace(view, sizes=tuple(shape), strides=tuple(strides), offset=offset)

    def _expand(self, op: memref.ExpandShapeOp) -> None:
        view = self.views[op.src]
        dynamic = iter(op.output_shape)
        sizes = [
            self._text(next(dynamic)) if n == DYNAMIC_INDEX else n
            for n in op.static_output_shape.get_values()
        ]
        strides: list[Term] = [0] * len(sizes)
        for group, stride in zip(groups_of(op.reassociation), view.strides, strict=True):
            for dim in reversed(group):
                strides[dim] = stride
                stride = times(stride, sizes[dim])
        self.views[op.result] = replace(view, sizes=tuple(sizes), strides=tuple(strides))

    def _collapse(self, op: memref.CollapseShapeOp) -> None:
        view = self.views[op.src]
        sizes: list[Term] = []
        strides: list[Term] = []
        for group in groups_of(op.reassociation):
            size: Term = 1
            for dim in group:
                size = times(size, view.sizes[dim])
            sizes.append(size)
            strides.append(view.strides[group[-1]] if group else 1)
        self.views[op.result] = replace(view, sizes=tuple(sizes), strides=tuple(strides))

    # Control flow

    def _for(self, op: scf.ForOp) -> None:
        """A loop whose carried values are variables around it."""
        body = op.body.block
        carried = self._variables(body.args[1:], [self._text(value) for value in op.iter_args])
        self._counted(op.lb, op.ub, op.step, body.args[0])
        self._nested(body)
        self._assign(carried, _yielded(body))
        self._close()
        for result, name in zip(op.results, carried, strict=True):
            self.values[result] = name

    def _counted(self, lower: SSAValue, upper: SSAValue, step: SSAValue, index: SSAValue) -> None:
        """Open a loop over an index. Raises: StepwellError `unsupported`."""
        if width_of(index.type) == 64 and not self.language.has_long_integers:
            raise StepwellError("unsupported", self.at, f"{self.language.target} has no loops over i64")
        self.values[index] = name = self.names.of(index)
        type = self.language.type(index.type, self.at)
        start = self.language.variable(name, type, self._text(lower))
        self._line(f"for ({start} {name} < {self._text(upper)}; {name} = {name} + {self._text(step)}) {{")

    def _parallel(self, op: scf.ParallelOp) -> None:
        """Parallel loops inside of a thread, one after the other."""
        if op.initVals:
            raise StepwellError("unsupported", op, "a parallel loop with reductions")
        for bounds in zip(op.lowerBound, op.upperBound, op.step, op.body.block.args, strict=True):
            self._counted(*bounds)
            self._depth += 1
        self.block(op.body.block)
        for _ in op.lowerBound:
            self._depth -= 1
            self._close()

    def _if(self, op: scf.IfOp) -> None:
        results = self._variables(op.results, None)
        self._line(f"if ({self._text(op.cond)}) {{")
        then, otherwise = op.true_region.block, op.false_region
        self._nested(then)
        self._assign(results, _yielded(then))
        if otherwise.blocks and (len(otherwise.block.ops) > 1 or results):
            self._line("} else {")
            self._nested(otherwise.block)
            self._assign(results, _yielded(otherwise.block))
        self._close()

    def _while(self, op: scf.WhileOp) -> None:
        """A loop that is left in its middle."""
        before, after = op.before_region.block, op.after_region.block
        carried = self._variables(before.args, [self._text(value) for value in op.arguments])
        results = self._variables(op.results, None)
        self._line("for (;;) {")
        self._nested(before)
        last = before.last_op
        assert isinstance(last, scf.ConditionOp)
        self._assign(results, list(last.operands[1:]))
        self._depth += 1
        self._line(f"if (!({self._text(last.operands[0])})) {{ break; }}")
        self._depth -= 1
        for argument, name in zip(after.args, results, strict=True):
            self.values[argument] = name
        self._nested(after)
        self._assign(carried, _yielded(after))
        self._close()

    def _variables(self, values: Sequence[SSAValue], initial: Sequence[str] | None) -> list[str]:
        """Declare a variable for each value, which then has its name."""
        names = [self.names.of(value) for value in values]
        texts = initial or [None] * len(names)
        for value, name, text in zip(values, names, texts, strict=True):
            self._line(self.language.variable(name, self.language.type(value.type, self.at), text))
            self.values[value] = name
        return names

    def _nested(self, block: Block) -> None:
        self._depth += 1
        self.block(block)
        self._depth -= 1

    def _assign(self, names: Sequence[str], values: Sequence[SSAValue]) -> None:
        """Assign values to variables, all at once: a value may be one of the variables."""
        self._depth += 1
        texts = [self._text(value) for value in values]
        if len(names) > 1 and any(text in names for text in texts):
            for position, value in enumerate(values):
                temporary = self.names.fresh("next")
                type = self.language.type(value.type, self.at)
                self._line(self.language.let(temporary, type, texts[position]))
                texts[position] = temporary
        for name, text in zip(names, texts, strict=True):
            if name != text:
                self._line(f"{name} = {text};")
        self._depth -= 1

    def _close(self) -> None:
        self._line("}")


def _yielded(block: Block) -> list[SSAValue]:
    last = block.last_op
    return list(last.operands) if isinstance(last, scf.YieldOp) else []
