"""Attribute classes whose parameters are read when their definition is first asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest
from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, i32
from xdsl.ir import ParametrizedAttribute, TypedAttribute
from xdsl.irdl import ParamAttrDef, irdl_attr_definition
from xdsl.utils.exceptions import PyRDLAttrDefinitionError, VerifyException

from stepwell.dialects import _xdsl as _xdsl


def _attribute_class(
    module: str, base: type[ParametrizedAttribute] = ParametrizedAttribute, **types: object
) -> type[ParametrizedAttribute]:
    methods = {name: getattr(IntegerAttr, name) for name in getattr(base, "__abstractmethods__", ())}
    body = {"name": "late.attr", "__module__": module, "__annotations__": types, **methods}
    return irdl_attr_definition(type("LateAttr", (base,), body))


def test_attributes_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    cls = _attribute_class("stepwell.late", size=IntegerAttr, of=StringAttr)
    assert isinstance(cls, type) and cls.name == "late.attr"
    attribute = cls(IntegerAttr(3, i32), StringAttr("a"))
    assert attribute == cls(IntegerAttr(3, i32), StringAttr("a")) != cls(IntegerAttr(4, i32), StringAttr("a"))
    assert attribute.parameters == (IntegerAttr(3, i32), StringAttr("a"))
    with pytest.raises(VerifyException, match="'of'"):
        cls(IntegerAttr(3, i32), IntegerAttr(3, i32))
    monkeypatch.setattr(ParamAttrDef, "from_pyrdl", None)  # the definition is made once
    assert [name for name, _ in cls.get_irdl_definition().parameters] == ["size", "of"]


def test_a_hash_is_that_of_the_parameters_and_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cls = _attribute_class("stepwell.late", of=StringAttr)
    one, equal, other = cls(StringAttr("a")), cls(StringAttr("a")), cls(StringAttr("b"))
    assert hash(one) == hash(equal) and one == equal and len({one, equal, other}) == 2
    assert str(one) == '#late.attr<"a">' and one.parameters == (StringAttr("a"),)
    monkeypatch.setattr(StringAttr, "__hash__", None, raising=False)
    assert hash(one) == hash(equal)
    with pytest.raises(TypeError, match="unhashable"):
        hash(cls(StringAttr("a")))


def test_the_type_of_typed_ones() -> None:
    cls = _attribute_class("stepwell.late", TypedAttribute, value=StringAttr, type=IntegerType)
    attribute = cls(StringAttr("a"), i32)
    assert isinstance(attribute, TypedAttribute)
    assert [attribute.get_type(), cls(StringAttr("b"), i32).parameters[1]] == [i32, i32]
    assert attribute.get_type_index() == 1 and IntegerAttr(3, i32).get_type() == i32


def test_a_mistake_is_reported_at_each_use_and_to_others_at_once() -> None:
    cls = _attribute_class("stepwell.late", size=3)
    for _ in range(2):
        with pytest.raises(PyRDLAttrDefinitionError, match="size"):
            cls.get_irdl_definition()
    with pytest.raises(PyRDLAttrDefinitionError, match="size"):
        _attribute_class("plugin.dialect", size=3)


def test_a_definition_that_is_not_asked_for_is_not_made() -> None:
    """Of the classes of `builtin`, which `import stepwell.passes` imports after the replacement."""
    program = (
        "import stepwell.passes\n"
        "from xdsl.dialects.builtin import FusedLoc, ModuleOp\n"
        "from stepwell.dialects._xdsl_speed.definitions import UndefinedOp\n"
        "late = vars(FusedLoc)['get_irdl_definition']\n"
        "assert type(ModuleOp) is UndefinedOp\n"
        "names = [name for name, _ in FusedLoc.get_irdl_definition().parameters]\n"
        "assert names == ['locations', 'metadata']\n"
        "assert vars(FusedLoc)['get_irdl_definition'] is not late\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
