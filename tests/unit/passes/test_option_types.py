"""The types of options are those of the annotations, for each pass."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import get_type_hints

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec

from stepwell.passes.option_types import option_types
from stepwell.passes.registry import load_pass, our_passes


def test_types_are_those_of_annotations() -> None:
    for pass_class in {load_pass(name) for name in our_passes()}:
        names = [field.name for field in fields(pass_class) if field.init]
        wanted = get_type_hints(pass_class)
        assert {name: option_types(pass_class)[name] for name in names} == {n: wanted[n] for n in names}


@dataclass(frozen=True)
class UnusualPass(ModulePass):
    """A pass with an option of a type that has no entry."""

    name = "unusual"

    numbers: tuple[int, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Nothing: its options are what is looked at."""


def test_other_types_are_evaluated() -> None:
    assert UnusualPass.from_spec(ArgSpec("unusual", {"numbers": (1, 2)})).numbers == (1, 2)
    with pytest.raises(ValueError, match="Incompatible types"):
        UnusualPass.from_spec(ArgSpec("unusual", {"numbers": ("a",)}))
