"""Dialects, ops, attributes and passes by name, with their documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import numpy as np
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import IRDLOperation
from xdsl.passes import ModulePass, get_pass_option_infos

from stepwell.dialects._xdsl import DIALECTS, StepwellContext, all_dialects
from stepwell.passes.registry import all_passes, load_pass
from stepwell.runtime.files.weights import WeightStore
from stepwell.tools.driver.ir_files import SHARED_WEIGHTS, weights_beside
from stepwell.tools.generators.reference import markdown, op_facts, option_rows, sentence

_DOCS = Path(__file__).resolve().parents[2] / "docs"
# `direction` is forward, reverse or bidirectional
_CHOICES = re.compile(r"`(\w+)` is ((?:\w+, )*\w+ or \w+)\b")
_SHOWN_ELEMS = 8


def dialects() -> dict[str, str]:
    """Each dialect with the first sentence of its module, if it is ours."""
    return {name: "" if name in DIALECTS else "xDSL's" for name in sorted(all_dialects())}


def _dialect(name: str) -> Dialect | None:
    loader = all_dialects().get(name)
    return None if loader is None else loader()


def ops_of(dialect: str) -> dict[str, str]:
    """The ops of a dialect, each with the first sentence of its docstring."""
    found = _dialect(dialect)
    return {} if found is None else {op.name: _summary(op) for op in found.operations}


def attributes_of(dialect: str) -> dict[str, str]:
    """The attributes and types of a dialect, each with the first sentence of its docstring."""
    found = _dialect(dialect)
    return {} if found is None else {attribute.name: _summary(attribute) for attribute in found.attributes}


def _summary(cls: type[Operation] | type[Attribute]) -> str:
    text = cleandoc(cls.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    return "" if text.startswith(f"{cls.__name__}(") else text


def op_page(name: str) -> str:
    """The documentation of an op in Markdown; empty for one that no dialect has."""
    op = StepwellContext().get_optional_op(name)
    if op is None:
        return ""
    lines = [f"### `{op.name}`", "", *markdown(op.__doc__, op.__name__)]
    if issubclass(op, IRDLOperation) and (facts := op_facts(op)):
        lines += ["", facts]
    return "\n".join([*lines, *_link(op.name)])


def attribute_page(name: str) -> str:
    """The documentation of an attribute or a type in Markdown; empty for one that no dialect has."""
    attribute = StepwellContext().get_optional_attr(name)
    if attribute is None:
        return ""
    body = markdown(attribute.__doc__, attribute.__name__)
    return "\n".join([f"### `{name}`", "", *body, *_link(f"#{name}")])


def _link(heading: str) -> Iterator[str]:
    """A link to the page of dialects, where the docs are beside the code and have our own."""
    if heading.lstrip("#").partition(".")[0] in DIALECTS and (page := _DOCS / "dialects.md").exists():
        yield from ("", f"[dialects.md]({page.as_uri()}#{re.sub(r'[^a-z0-9_-]', '', heading.lower())})")


def words_of(name: str) -> dict[str, list[str]]:
    """The properties of an op, each with its values where these are a few names."""
    op = StepwellContext().get_optional_op(name)
    if op is None or not issubclass(op, IRDLOperation):
        return {}
    choices = {key: re.split(r", | or ", words) for key, words in _CHOICES.findall(op.__doc__ or "")}
    definition = op.get_irdl_definition()
    return {
        key: choices.get(key, [])
        for key in (*definition.properties, *definition.attributes)
        if key not in ("operandSegmentSizes", "resultSegmentSizes")
    }


def passes() -> dict[str, str]:
    """All passes, each with its summary."""
    return all_passes()


def pass_page(name: str) -> str:
    """The documentation of a pass in Markdown; empty for an unknown one."""
    if name not in all_passes():
        return ""
    pass_class = load_pass(name)
    body = markdown(pass_class.__doc__ if "__doc__" in vars(pass_class) else None, pass_class.__name__)
    lines = [f"### `{name}`", "", *(body or [sentence(all_passes()[name] or name)])]
    if rows := list(option_rows(pass_class)):
        lines += ["", "| option | type | default | |", "|---|---|---|---|", *rows]
    return "\n".join(lines)


def options_of(name: str) -> dict[str, str]:
    """The options of a pass, each with its type."""
    if name not in all_passes():
        return {}
    pass_class: type[ModulePass] = load_pass(name)
    return {option.replace("_", "-"): kind for option, kind, _ in get_pass_option_infos(pass_class)}


def weight_page(file: str, key: str) -> str:
    """Shape, range and first elements of a weight, from the weight file beside a file of IR; else empty."""
    path = Path(file)
    for weights in (weights_beside(path), path.with_name(SHARED_WEIGHTS)):
        store = WeightStore()
        if weights.exists():
            store.load(weights)
        if key in store:
            return _described(store.get(key), weights.name)
    return ""


def _described(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], file: str) -> str:
    values = array.reshape(-1)
    shape = "x".join(map(str, array.shape)) or "a scalar"
    if not values.size:
        return f"{shape} {array.dtype}, in {file}"
    numbers = values.astype(np.float64)
    first = [f"{number:.6g}" for number in numbers[:_SHOWN_ELEMS]] + ["…"] * (values.size > _SHOWN_ELEMS)
    span = f"from {numbers.min():.6g} to {numbers.max():.6g}"
    return f"{shape} {array.dtype} {span}, in {file}\n\n{', '.join(first)}"
