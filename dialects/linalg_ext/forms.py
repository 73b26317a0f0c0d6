"""The base of ops of `linalg_ext`, which are graph ops into tensors, and their forms with named sizes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, UnrealizedConversionCastOp, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, IRDLOperation, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.relations import differ, shape_text
from stepwell.dialects.linalg_builder.scalars import signless
from stepwell.dialects.sched import SCHEDULE, Schedule, schedule_of
from stepwell.dialects.types import Tensor, bool_attr, dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

SizeOf: TypeAlias = Callable[[SSAValue, int], Dim]
"""The size of a dimension of a tensor."""
SEGMENTS = "operandSegmentSizes"


@dataclass(frozen=True)
class Size:
    """The legal values of a size, multiples of `step` up to `most`, and the one if a schedule has none."""

    default: int
    most: int
    step: int = 1
    is_power: bool = False
    """Whether these are powers of two."""

    def __contains__(self, number: int) -> bool:
        is_odd = self.is_power and number & (number - 1)
        return self.step <= number <= self.most and number % self.step == 0 and not is_odd

    def __str__(self) -> str:
        if self.most == self.step:
            return f"{self.most}"
        kind = "powers of 2 from " if self.is_power else f"multiples of {self.step} from "
        return f"{kind if self.is_power or self.step > 1 else ''}{self.step} to {self.most}"


def _fits(sizes: Mapping[str, int]) -> str | None:
    """The check of a form whose sizes are independent."""
    return None


@dataclass(frozen=True)
class Form:
    """A way to compute an op: its sizes, or the reason why this op does not have it."""

    sizes: Mapping[str, Size]
    refusal: str | None = None
    misfit: Callable[[Mapping[str, int]], str | None] = _fits
    """The reason why sizes, each legal, do not go together; None if they do."""

    def defaults(self) -> dict[str, int]:
        """The sizes where a schedule says none."""
        return {name: size.default for name, size in self.sizes.items()}


class FormsOp(IRDLOperation, ABC):
    """
    An op with the operands and properties of a graph op, whose results it writes into tensors by some form.

    Level 2 has neither names of dimensions nor signs of integers. The sizes of `written` stand for sizes that
    the graph op has as properties. A property `of` is the type of elements that are stored as another one.
    """

    GRAPH_OP: ClassVar[type[GraphOp]]
    PLAIN: ClassVar[frozenset[str]] = frozenset()
    """The operands whose elements are not of type `of`."""
    UNITS: ClassVar[Mapping[str, str]] = {}
    """Unit attributes, and the properties of the graph op that are true where these are present."""

    traits = traits_def(Pure())

    @abstractmethod
    def forms(self) -> Mapping[str, Form]:
        """All forms of such ops by name, with the sizes that are legal for this op; first the default."""

    @classmethod
    def writing(cls, op: GraphOp, inits: Sequence[SSAValue], **others: SSAValue | None) -> Self:
        """
        The op that writes the results of a graph op into `inits`; `others` replace its operands by name.
        """
        own = cls.get_irdl_definition()
        properties = {name: op.properties[name] for name in own.properties if name in op.properties}
        properties.pop(SEGMENTS, None)
        for unit, name in cls.UNITS.items():
            properties.pop(unit, None)
            if op.properties[name] == bool_attr(True):
                properties[unit] = UnitAttr()
        element = tensor_of(op.results[0]).element_type
        if signless(element) != element:
            properties["of"] = element
        given: dict[str, Any] = {"init": inits[0], "inits": inits, **others}
        operands = [given[name] if name in given else getattr(op, name) for name, _ in own.operands]
        types = [init.type for init in inits]
        results = types if len(types) == len(own.results) else [types]
        return cls.build(operands=operands, result_types=results, properties=properties)

    @property
    def written(self) -> Sequence[SSAValue]:
        """The tensors for the results: the operand `init`, or `inits` for several."""
        init = cast("SSAValue | None", getattr(self, "init", None))
        return cast("Sequence[SSAValue]", getattr(self, "inits", ())) if init is None else (init,)

    def slots(self) -> list[tuple[str, SSAValue | None]]:
        """The operands of the graph op with their names, and None for absent optional ones."""
        slots: list[tuple[str, SSAValue | None]] = []
        for name, _ in self.GRAPH_OP.get_irdl_definition().operands:
            value = cast("SSAValue | Sequence[SSAValue] | None", getattr(self, name, None))
            slots += [(name, each) for each in (value if isinstance(value, Sequence) else [value])]
        return slots

    def size_properties(self, sizes: Sequence[Sequence[Dim]]) -> Mapping[str, Attribute]:
        """The properties of the graph op that follow from the sizes of `written`."""
        return {}

    def graph_properties(self, sizes: Sequence[Sequence[Dim]]) -> dict[str, Attribute]:
        """All properties of the graph op, by the sizes of `written`."""
        definitions = self.GRAPH_OP.get_irdl_definition().properties
        defaults = {
            name: own.default_value for name, own in definitions.items() if own.default_value is not None
        }
        same = {name: value for name, value in self.properties.items() if name in {*definitions} - {SEGMENTS}}
        units = {name: bool_attr(unit in self.properties) for unit, name in self.UNITS.items()}
        return {**defaults, **same, **units, **self.size_properties(sizes)}

    def graph_op(self, size_of: SizeOf) -> tuple[GraphOp, list[Operation]]:
        """
        The graph op, not inserted, and the casts of its operands and of `written` to types of level 1.

        Raises: VerifyException for operands or properties that the graph op does not have.
        """
        casts: list[Operation] = []

        def cast_to(value: SSAValue, type: Attribute) -> SSAValue:
            casts.append(UnrealizedConversionCastOp.get([value], [type]))
            return casts[-1].results[0]

        def sizes_of(value: SSAValue) -> list[Dim]:
            return [size_of(value, position) for position in range(len(dims_of(value.type)))]

        slots = self.slots()
        operands = [
            cast_to(value, tensor_type(self.element_of(name, value), sizes_of(value)))
            for name, value in slots
            if value is not None
        ]
        properties = self.graph_properties([sizes_of(init) for init in self.written])
        if AttrSizedOperandSegments(as_property=True) in self.GRAPH_OP.get_irdl_definition().options:
            properties[SEGMENTS] = DenseArrayBase.from_list(
                i32, [int(value is not None) for _, value in slots]
            )
        types = [init.type for init in self.written]
        made = self.GRAPH_OP.create(operands=operands, result_types=types, properties=properties)
        try:
            made.set_result_types()
        except VerifyException:
            _erase([made, *casts])
            raise
        for init, result in zip(self.written, made.results, strict=True):
            cast_to(init, result.type)
        return made, casts

    def element_of(self, name: str, value: SSAValue) -> Attribute:
        """The element type of an operand at level 1. Raises: VerifyException for one not stored so."""
        stored = tensor_of(value).element_type
        if (of := self.properties.get("of")) is None or name in self.PLAIN:
            return stored
        if signless(of) != stored:
            raise VerifyException(f"elements of {of} must be stored as {signless(of)}, found {stored}")
        return of

    def verify_(self) -> None:
        made, casts = self.graph_op(lambda value, position: dims_of(value.type)[position])  # (C1)
        types = [result.type for result in made.results]
        _erase([made, *casts])
        for init, result, wanted in zip(self.written, self.results, types, strict=True):  # (C2)
            dims, found = dims_of(wanted), dims_of(init.type)
            differs = len(dims) != len(found) or any(map(differ, dims, found))
            element = signless(cast(Tensor, wanted).element_type)
            if differs or tensor_of(init).element_type != element or result.type != init.type:
                text = f"{shape_text(dims)} of {element}"
                raise VerifyException(f"result and init must be {text}, found {result.type} and {init.type}")


def form_of(op: FormsOp) -> tuple[str, dict[str, int]]:
    """
    The form of an op and all its sizes, from its schedule or else the defaults.

    Raises: StepwellError `bad-schedule` for a form or a size that is not legal for the op.
    """
    schedule = schedule_of(op)
    if schedule is None:
        name, form = next(iter(op.forms().items()))
        return name, form.defaults()
    return checked_form(op, schedule)


def checked_form(op: FormsOp, schedule: Schedule) -> tuple[str, dict[str, int]]:
    """
    The form of a schedule that an op has or may get, and all its sizes.

    Raises: StepwellError `bad-schedule`, as `form_of`.
    """
    forms, name, given = op.forms(), schedule.form, dict(schedule.sizes)
    if (form := forms.get(name)) is None:
        raise bad_schedule(op, f"form must be {' or '.join(forms)}, found '{name}'", schedule)
    if form.refusal is not None:
        raise bad_schedule(op, form.refusal, schedule)
    for key, number in given.items():
        if (size := form.sizes.get(key)) is None:
            found = f"sizes of form {name} are {', '.join(form.sizes) or 'none'}, found {key}"
            raise bad_schedule(op, found, schedule)
        if number not in size:
            raise bad_schedule(op, f"{key} of form {name} must be {size}, found {number}", schedule)
    sizes = {**form.defaults(), **given}
    if (reason := form.misfit(sizes)) is not None:
        raise bad_schedule(op, reason, schedule)
    return name, sizes


def scheduled_ops(module: Operation, pass_name: str) -> list[Operation]:
    """The ops whose schedules a pass wrote: `choose-forms`, or `choose-schedules` after `expand-forms`."""
    are_forms = pass_name == "choose-forms"
    return [op for op in module.walk() if SCHEDULE in op.attributes and isinstance(op, FormsOp) == are_forms]


def bad_schedule(op: FormsOp, message: str, schedule: Schedule) -> StepwellError:
    """The error of a schedule that an op cannot have."""
    return StepwellError(
        "bad-schedule", op, f"{op.name}: {message}", note=f"the schedule is {schedule.attr()}"
    )


def _erase(ops: Sequence[Operation]) -> None:
    """Drop the operands of ops that were never inserted."""
    for op in ops:
        op.drop_all_references()
