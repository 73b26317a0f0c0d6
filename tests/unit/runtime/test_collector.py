"""Imports of the compiler: data classes behave as Python's own, and others are left alone."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass
from threading import Event, Thread
from typing import Any

import pytest

from stepwell.runtime.collector import compiler_imports

with compiler_imports():

    @dataclass(frozen=True, order=True)
    class Late:
        """A class with all methods that `dataclass` makes."""

        number: int
        text: str = dataclasses.field(default="", compare=False)

    @dataclass(frozen=True)
    class Derived(Late):
        """A class that inherits some."""

        more: int = 0

    @dataclass(slots=True)
    class Slotted:
        """A class that `dataclass` makes twice."""

        number: int


@dataclass(frozen=True, order=True)
class Now:
    """The same as `Late`, made as Python does."""

    number: int
    text: str = dataclasses.field(default="", compare=False)


def test_methods_are_those_of_any_data_class() -> None:
    classes: list[Any] = [Late, Now]
    for cls in classes:
        one, other = cls(1, "a"), cls(1, "b")
        assert one == other and hash(one) == hash(other) == hash((1,)) and one != 1
        assert one < cls(2) and one <= other and cls(2) > one and one >= other
        assert repr(one) == f"{cls.__name__}(number=1, text='a')"
        assert copy.copy(one) == one == pickle.loads(pickle.dumps(one))
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'number'"):
            setattr(one, "number", 2)  # noqa: B010
        with pytest.raises(FrozenInstanceError, match="cannot delete field 'number'"):
            delattr(one, "number")
        with pytest.raises(TypeError):
            one < 1  # noqa: B015  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]


def test_classes_that_inherit_and_that_have_slots() -> None:
    assert Derived(1, "a", 2) == Derived(1, "b", 2) != Derived(1, "a", 3)
    assert hash(Derived(1)) == hash((1, 0)) and repr(Derived(1)) == "Derived(number=1, text='', more=0)"
    with pytest.raises(FrozenInstanceError):
        setattr(Derived(1), "more", 2)  # noqa: B010
    assert Slotted(1) == Slotted(1) != Slotted(2) and repr(Slotted(3)) == "Slotted(number=3)"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Slotted(1))


def test_a_method_is_compiled_once() -> None:
    """From the second call on a class is as if it had been made without."""
    with compiler_imports():
        made: Any = dataclass(type("Made", (), {"__annotations__": {"number": "int"}}))
    assert made(1) == made(1)
    compiled = vars(made)["__eq__"]
    assert (compiled.__name__, compiled.__qualname__) == ("__eq__", "Made.__eq__")
    assert compiled.__code__.co_filename == vars(Now)["__eq__"].__code__.co_filename
    assert made(1) == made(1) and vars(made)["__eq__"] is compiled


def test_constructors_are_late_and_have_their_signature() -> None:
    """Whoever asks a class for its constructor, or a derived class for the inherited one, compiles it."""
    with compiler_imports():
        classes: list[Any] = [
            dataclass(type("Made", (), {"__annotations__": {"number": "int"}})) for _ in range(2)
        ]
        late = vars(classes[0])["__init__"]
    if sys.version_info < (3, 13):
        assert [cls.__doc__ for cls in classes] == ["Made(...)", "Made(...)"]
        assert not inspect.isfunction(late)
    derived: Any = type("Derived", (classes[1],), {})
    assert derived(1).number == derived(number=1).number == 1
    assert str(inspect.signature(classes[0])) == "(number: 'int') -> None"
    for cls in classes:
        assert inspect.isfunction(init := vars(cls)["__init__"]) and init.__qualname__ == "Made.__init__"
        assert cls(1) == cls(number=1) and vars(cls)["__init__"] is init
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            cls()
        assert str(inspect.signature(cls)) == "(number: 'int') -> None"


def test_classes_made_afterwards_are_pythons_own() -> None:
    """Also when two threads import at the same time, and the first one ends first."""
    before = vars(dataclasses).copy()
    entered, leave = Event(), Event()

    def other() -> None:
        with compiler_imports():
            entered.set()
            leave.wait()

    thread = Thread(target=other)
    with compiler_imports():
        thread.start()
        entered.wait()
    leave.set()
    thread.join()
    with pytest.raises(ImportError), compiler_imports():
        raise ImportError
    assert vars(dataclasses) == before


def test_imported_objects_are_old_and_frozen_ones_stay() -> None:
    """Nothing is moved where nothing is imported, or where the program has frozen objects."""
    code = """
import gc
from stepwell.runtime.collector import compiler_imports
seen = set()
for name in ("fractions", "fractions", "graphlib"):
    with compiler_imports():
        __import__(name)
        made = [[]]
    print([age for age in range(3) if any(each is made for each in gc.get_objects(age))], gc.isenabled())
    if name in seen:
        gc.freeze()
    seen.add(name)
print(gc.get_freeze_count() > 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[2] True", "[0] True", "[0] True", "True"]


def test_the_compilers_classes_are_late() -> None:
    code = "import stepwell; stepwell.Module; from xdsl.dialects.builtin import DenseResourceAttr as A"
    code += "; print(vars(A)['__delattr__'].__code__.co_name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    late = sys.version_info < (3, 13)  # which has no function to put another in place of
    assert (done.stdout == "method\n") is late
