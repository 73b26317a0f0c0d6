"""Names of states: patterns of inputs and outputs, and the pairs of a model that match them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp

from stepwell.dialects.graph_ir.state import NAME, STATE, argument_attributes
from stepwell.runtime.errors import StepwellError, did_you_mean

AUTO = "auto"
_KNOWN = (("past_key_values.*", "present.*"), ("past_key_*", "present_key_*"), ("*", "*_out"))
"""The pairs of exporters that `auto` looks for: decoders with one cache a layer, and `h`, `h_out`."""


class NamedPair(NamedTuple):
    """An input and an output that are one state: their names, and numbers among arguments and results."""

    input: str
    output: str
    argument: int
    result: int


def named_pairs(main: FuncOp, patterns: Sequence[str]) -> list[NamedPair]:
    """
    The inputs and outputs of a model that patterns `IN=OUT` match; `*` stands for the same text in both.

    Raises: StepwellError `bad-option` for a pattern without `=`; `state-mismatch` for a pattern without a
    match, or an input without its output.
    """
    inputs, outputs = _names(main, True), _names(main, False)
    found: dict[str, NamedPair] = {}
    for pattern in patterns:
        new = (
            _automatic(main, inputs, outputs)
            if pattern == AUTO
            else _matching(pattern, main, inputs, outputs)
        )
        for pair in new:
            found.setdefault(pair.input, pair)
    return sorted(found.values(), key=lambda pair: pair.argument)


def _names(main: FuncOp, are_inputs: bool) -> dict[str, int]:
    """Maps the names of inputs or outputs that are no states to their numbers."""
    results = list(main.res_attrs.data) if main.res_attrs is not None else list[DictionaryAttr]()
    attributes = argument_attributes(main) if are_inputs else results
    return {
        name.data: number
        for number, each in enumerate(attributes)
        if isinstance(name := each.data.get(NAME), StringAttr) and STATE not in each.data
    }


def _automatic(main: FuncOp, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> list[NamedPair]:
    found = [
        NamedPair(input, output, number, outputs[output])
        for given, result in _KNOWN
        for input, number in inputs.items()
        if (output := _counterpart(given, result, input)) in outputs and output is not None
    ]
    if not found:
        known = ", ".join(f"{given}={result}" for given, result in _KNOWN)
        raise StepwellError(
            "state-mismatch",
            main,
            "no input and output have names that are known as a state's",
            note=f"inputs: {', '.join(inputs)}; outputs: {', '.join(outputs)}",
            help=f"name them: `--state IN=OUT`; auto knows {known}",
        )
    return found


def _matching(
    pattern: str, main: FuncOp, inputs: Mapping[str, int], outputs: Mapping[str, int]
) -> list[NamedPair]:
    given, equals, result = pattern.partition("=")
    if not (given and equals and result) or given.count("*") != result.count("*") or given.count("*") > 1:
        message = f"a state is written IN=OUT, with one `*` in both or in neither, found {pattern!r}"
        raise StepwellError("bad-option", main, message)
    found: list[NamedPair] = []
    for input, number in inputs.items():
        if (output := _counterpart(given, result, input)) is None:
            continue
        if output not in outputs:
            message = f"the input {input!r} has no output {output!r}, which would be its next value"
            help = f"{did_you_mean(output, outputs)}the outputs are {', '.join(outputs)}"
            raise StepwellError("state-mismatch", main, message, help=help)
        found.append(NamedPair(input, output, number, outputs[output]))
    if not found:
        message = f"no input has the name {given!r}"
        help = f"{did_you_mean(given, inputs)}the inputs are {', '.join(inputs)}"
        raise StepwellError("state-mismatch", main, message, help=help)
    return found


def _counterpart(given: str, result: str, input: str) -> str | None:
    """The output's name for an input that matches; None for one that does not."""
    match = re.fullmatch(re.escape(given).replace(r"\*", "(.+)"), input)
    if match is None:
        return None
    return result.replace("*", match[1]) if match.groups() else result
