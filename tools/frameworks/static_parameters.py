"""Parameters of JAX functions whose values are part of the code: `static_argnums` and `static_argnames`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any, cast

from stepwell.frontend.stablehlo.jax_functions import Names
from stepwell.runtime.errors import StepwellError

Function = Callable[..., Any]


def positional(function: Function) -> Sequence[str]:
    """The names of the parameters of a function that take positional arguments."""
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, each in signature(function).parameters.items() if each.kind in kinds]


def expect_parameters(function: Function, names: Iterable[str], what: str) -> None:
    """
    Require names to be those of parameters of a function.

    Args: `what` begins the message (`dims names the sizes of`).
    Raises: StepwellError `bad-option`.
    """
    known = signature(function).parameters
    if any(each.kind is Parameter.VAR_KEYWORD for each in known.values()):
        return
    if unknown := [name for name in names if name not in known]:
        message = f"{what} {unknown[0]!r}, and the function has no such parameter"
        raise StepwellError("bad-option", None, message, help=f"its parameters are {', '.join(known)}")


class StaticParameters:
    """The parameters of a function whose arguments are part of its code; false without any."""

    def __init__(self, function: Function, numbers: int | Sequence[int], names: str | Sequence[str]):
        """Args: as of `jax.jit`. Raises: StepwellError `bad-option`."""
        by_position = positional(function)
        given = [names] if isinstance(names, str) else list(names)
        expect_parameters(function, given, "static_argnames has")
        self._numbers: set[int] = {by_position.index(name) for name in given if name in by_position}
        self._names = set(given)
        known = signature(function).parameters.values()
        is_variadic = any(each.kind is Parameter.VAR_POSITIONAL for each in known)
        for number in [numbers] if isinstance(numbers, int) else numbers:
            place = number + len(by_position) if number < 0 else number
            if place < 0 or (place >= len(by_position) and not is_variadic):
                message = f"static_argnums has {number}, and the function has {len(by_position)} arguments"
                raise StepwellError("bad-option", None, message)
            self._numbers.add(place)
            self._names.update(by_position[place : place + 1])

    def __bool__(self) -> bool:
        return bool(self._numbers or self._names)

    def split(
        self, function: Function, args: Sequence[Any], kwargs: Mapping[str, Any], names: Names
    ) -> tuple[Function, Sequence[Any], Mapping[str, Any], Names, object]:
        """
        A function of the other arguments, these arguments, the names of their sizes, and a key of the values.

        Raises: StepwellError `bad-inputs` for a value without a hash.
        """
        by_number = {number: args[number] for number in sorted(self._numbers) if number < len(args)}
        by_name = {name: kwargs[name] for name in sorted(self._names) if name in kwargs}
        rest = [number for number in range(len(args)) if number not in by_number]
        others = {name: value for name, value in kwargs.items() if name not in by_name}
        moved: dict[int | str, Mapping[int, str]] = {name: names[name] for name in others if name in names}
        moved |= {place: names[number] for place, number in enumerate(rest) if number in names}
        bound = _bound(function, by_number, by_name)
        key = tuple((place, _hashed(place, value)) for place, value in (*by_number.items(), *by_name.items()))
        return bound, [args[number] for number in rest], others, moved, key


def _bound(function: Function, by_number: Mapping[int, Any], by_name: Mapping[str, Any]) -> Function:
    """A function with some of its arguments given."""

    def rest(*args: Any, **kwargs: Any) -> Any:
        others = iter(args)
        count = len(args) + len(by_number)
        whole = [by_number[i] if i in by_number else next(others) for i in range(count)]
        return function(*whole, **kwargs, **by_name)

    rest.__name__ = getattr(function, "__name__", "function")
    return rest


def _hashed(place: int | str, value: object) -> object:
    """A static value with its type, since True equals 1. Raises: StepwellError `bad-inputs`."""
    try:
        hash(value)
    except TypeError:
        message = f"the static argument {place} is a {type(value).__name__}, which has no hash"
        raise StepwellError("bad-inputs", None, message, help="a tuple in place of a list has one") from None
    return cast(object, (type(value), value))
