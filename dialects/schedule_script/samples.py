"""Decisions of a search in scripts: the text has the choice, so that a script is replayed without chance."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.schedule_script.text import (
    PrimitiveOp,
    parse_count,
    parse_factors,
    parse_operand,
    print_factors,
    print_operands_of,
)
from stepwell.dialects.schedule_script.types import (
    CHOICE,
    LOOP,
    STAGE,
    TILE,
    ChoiceType,
    LoopType,
    StageType,
    TileType,
)

MOST_OPTIONS = 64
"""A choice has at most so many options."""
ROOT, INLINE = "root", "inline"
"""The places that are no stages: loops of the stage's own, and the bodies of its readers."""


@irdl_op_definition
class SampleTileOp(PrimitiveOp):
    """
    The factors of a split that a search has chosen, outer to inner: at most `max` for the innermost part.

    On a loop of fewer iterations the inner factors are clamped to it, with a remark. The first one becomes as
    many as there are.

    ```mlir
    %t = sched.sample_tile %i levels 2 max 16 : [32, 4]
    %i0, %i1 = sched.split %i by %t
    ```
    Constraints:
      (C1) a factor for each level, from 1 on, the innermost at most `max`.
    """

    name = "sched.sample_tile"

    loop = operand_def(LoopType)
    most = prop_def(IntegerAttr.constr(i64))
    seed = opt_prop_def(IntegerAttr.constr(i64))
    factors = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TileType)

    def __init__(self, loop: SSAValue, most: int, factors: Sequence[int], seed: int | None = None):
        super().__init__(
            operands=[loop],
            properties={
                "most": IntegerAttr(most, i64),
                "seed": None if seed is None else IntegerAttr(seed, i64),
                "factors": DenseArrayBase.from_list(i64, list(factors)),
            },
            result_types=[TILE],
        )

    @classmethod
    def parse(cls, parser: Parser) -> SampleTileOp:
        loop = parse_operand(parser, LOOP)
        parser.parse_keyword("levels")
        levels = parse_count(parser)
        parser.parse_keyword("max")
        most = parse_count(parser)
        has_seed = parser.parse_optional_keyword("seed") is not None
        seed = parse_count(parser) if has_seed else None
        parser.parse_punctuation(":")
        factors = parse_factors(parser)
        if len(factors) != levels:
            parser.raise_error(f"{levels} levels have as many factors, found {len(factors)}")
        return cls(loop, most, factors, seed)

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)
        seed = "" if self.seed is None else f" seed {self.seed.value.data}"
        printer.print_string(f" levels {len(self.factors)} max {self.most.value.data}{seed} : ")
        print_factors(printer, self.factors.get_values())

    def verify_(self) -> None:
        factors = self.factors.get_values()
        if not factors or min(factors) < 1 or factors[-1] > self.most.value.data:  # (C1)
            raise VerifyException(
                f"factors are 1 or more, the innermost at most {self.most.value.data}, found {list(factors)}"
            )


@irdl_op_definition
class SampleChoiceOp(PrimitiveOp):
    """
    A number or a text that a search has chosen from several, for `split`, `set_size` and `set_form`.

    A factor of a split that is more than a loop has iterations is clamped to these, with a remark.

    ```mlir
    %n = sched.sample_choice of [4, 8, 16] : 8
    %i0, %i1 = sched.split %i by [?, %n]
    %f = sched.sample_choice of ["rows", "lanes"] : "rows"
    sched.set_form %a to %f
    ```
    Constraints:
      (C1) from 1 to 64 options, all numbers or all texts.
      (C2) the choice is one of the options.
    """

    name = "sched.sample_choice"

    options = prop_def(ArrayAttr[StringAttr | IntegerAttr])
    chosen = prop_def(StringAttr | IntegerAttr)
    result = result_def(ChoiceType)

    def __init__(self, options: Sequence[int] | Sequence[str], chosen: int | str):
        super().__init__(
            properties={"options": ArrayAttr([_option(each) for each in options]), "chosen": _option(chosen)},
            result_types=[CHOICE],
        )

    @classmethod
    def parse(cls, parser: Parser) -> SampleChoiceOp:
        parser.parse_keyword("of")
        options = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_option(parser))
        parser.parse_punctuation(":")
        properties = {"options": ArrayAttr(options), "chosen": _parse_option(parser)}
        return cls.create(properties=properties, result_types=[CHOICE])

    def print(self, printer: Printer) -> None:
        printer.print_string(" of ")
        with printer.in_square_brackets():
            printer.print_list(self.options.data, lambda each: _print_option(printer, each))
        printer.print_string(" : ")
        _print_option(printer, self.chosen)

    def verify_(self) -> None:
        kinds = {isinstance(each, StringAttr) for each in self.options.data}
        if len(kinds) != 1 or len(self.options.data) > MOST_OPTIONS:  # (C1)
            message = f"a choice has from 1 to {MOST_OPTIONS} options, all numbers or all texts"
            raise VerifyException(f"{message}, found {len(self.options.data)} options")
        if self.chosen not in self.options.data:  # (C2)
            raise VerifyException(f"the choice must be one of the options, found {self.chosen}")


def _option(value: int | str) -> StringAttr | IntegerAttr:
    return StringAttr(value) if isinstance(value, str) else IntegerAttr(value, i64)


def _parse_option(parser: Parser) -> StringAttr | IntegerAttr:
    text = parser.parse_optional_str_literal()
    return _option(parse_count(parser) if text is None else text)


def _print_option(printer: Printer, option: StringAttr | IntegerAttr) -> None:
    if isinstance(option, StringAttr):
        printer.print_attribute(option)
    else:
        printer.print_string(str(option.value.data))


def number_chosen(choice: SSAValue) -> int | None:
    """The number that a search has chosen; None for a text."""
    option = choice.owner.chosen if isinstance(choice.owner, SampleChoiceOp) else None
    return option.value.data if isinstance(option, IntegerAttr) else None


def text_chosen(choice: SSAValue) -> str | None:
    """The text that a search has chosen; None for a number."""
    option = choice.owner.chosen if isinstance(choice.owner, SampleChoiceOp) else None
    return option.data if isinstance(option, StringAttr) else None


@irdl_op_definition
class SamplePlaceOp(PrimitiveOp):
    """
    The loop at which a search computes a stage, and the step to that loop.

    `root` is `compute_root`, `inline` is `compute_inline`, another name is `compute_at` in the stage of that
    name: by its tiles, or with a depth in so many of its loops, outer ones first. A depth that exceeds the
    number of loops is clamped, with a remark.

    ```mlir
    sched.sample_place %p : "C" depth 2
    ```
    Constraints:
      (C1) a depth is 1 or more, and in a stage.
    """

    name = "sched.sample_place"

    stage = operand_def(StageType)
    place = prop_def(StringAttr)
    depth = opt_prop_def(IntegerAttr.constr(i64))

    def __init__(self, stage: SSAValue, place: str, depth: int | None = None):
        attr = None if depth is None else IntegerAttr(depth, i64)
        super().__init__(operands=[stage], properties={"place": StringAttr(place), "depth": attr})

    @property
    def changes_kernel(self) -> bool:
        """Whether the step rewrites the kernel, as opposed to a decision about it."""
        return self.place.data == INLINE or self.depth is not None

    @classmethod
    def parse(cls, parser: Parser) -> SamplePlaceOp:
        stage = parse_operand(parser, STAGE)
        parser.parse_punctuation(":")
        place = parser.parse_str_literal()
        has_depth = parser.parse_optional_keyword("depth") is not None
        return cls(stage, place, parse_count(parser) if has_depth else None)

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.place)
        if self.depth is not None:
            printer.print_string(f" depth {self.depth.value.data}")

    def verify_(self) -> None:
        if self.depth is not None and (
            self.place.data in (ROOT, INLINE) or self.depth.value.data < 1
        ):  # (C1)
            found = f"depth {self.depth.value.data} in {self.place.data!r}"
            raise VerifyException(f"a depth must be 1 or more, in the loops of a stage, found {found}")
