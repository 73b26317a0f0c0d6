"""Op classes that are defined when they are first used."""

from threading import Barrier, Thread

import pytest
from xdsl.dialects.builtin import i32
from xdsl.dialects.test import TestOp
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import PyRDLOpDefinitionError

from stepwell.dialects import onnx
from stepwell.dialects._xdsl_speed.definitions import UndefinedOp, define_late


def _op_class(module: str, **fields: object) -> type[IRDLOperation]:
    body = {"name": "late.op", "__module__": module, "__annotations__": {}, **fields}
    return define_late(type("LateOp", (IRDLOperation,), body))


def _fields() -> dict[str, object]:
    return {"x": operand_def(i32), "size": opt_prop_def(), "y": result_def(i32)}


def _is_late(cls: type) -> bool:
    return type(cls) is UndefinedOp


def test_name_and_isinstance_need_no_definition() -> None:
    cls = _op_class("stepwell.late", **_fields())
    assert cls.name == "late.op" and cls.__name__ == "LateOp"
    assert not isinstance(TestOp(), cls) and issubclass(cls, Operation) and {cls: 1}[cls] == 1
    assert _is_late(cls)


@pytest.mark.parametrize("use", ["create", "get_irdl_definition", "traits", "x", "__dict__"])
def test_other_attributes_define(use: str) -> None:
    cls = _op_class("stepwell.late", **_fields())
    getattr(cls, use) if use != "x" else vars(cls)[use]
    assert not _is_late(cls)
    assert [name for name, _ in cls.get_irdl_definition().operands] == ["x"]


def test_the_first_instance_defines() -> None:
    cls = _op_class("stepwell.late", **_fields())
    source = TestOp(result_types=[i32])
    op = cls(operands=[source.results[0]], result_types=[i32])
    assert not _is_late(cls) and isinstance(op, cls)
    assert getattr(op, "x") is source.results[0] and getattr(op, "size") is None  # noqa: B009
    op.verify()


def test_setting_an_attribute_defines_before() -> None:
    cls = _op_class("stepwell.late", **_fields())
    setattr(cls, "marker", 1)  # noqa: B010  # the definition would refuse it as a field
    assert not _is_late(cls) and getattr(cls, "marker") == 1  # noqa: B009


def test_classes_of_others_are_defined_at_once() -> None:
    assert not _is_late(_op_class("plugin.dialect", **_fields()))
    with pytest.raises(PyRDLOpDefinitionError, match=r"LateOp\.x is neither"):
        _op_class("plugin.dialect", x=3)


def test_a_mistake_is_reported_at_each_use() -> None:
    cls = _op_class("stepwell.late", x=3)
    for _ in range(2):
        with pytest.raises(PyRDLOpDefinitionError, match=r"LateOp\.x is neither"):
            cls.get_irdl_definition()


def test_threads_see_whole_definitions() -> None:
    start, found = Barrier(8), list[int]()
    cls = _op_class("stepwell.late", **{f"x{i}": operand_def(i32) for i in range(40)})

    def use() -> None:
        start.wait()
        found.append(len(cls.get_irdl_definition().operands))

    threads = [Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [40] * 8


def test_fields_of_operators_of_onnx() -> None:
    definition = onnx.op_class("onnx.Conv").get_irdl_definition()
    assert [name for name, _ in definition.operands] == ["X", "W", "B"]
    assert {"group", "strides"} <= definition.properties.keys()


def test_a_subclass_has_a_defined_base() -> None:
    base = _op_class("stepwell.late", **_fields())
    cls = type("Special", (base,), {})
    assert not _is_late(cls) and not _is_late(base)
    assert cls.get_irdl_definition() is base.get_irdl_definition()
