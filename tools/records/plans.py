"""Plans: options of level 1 that made a whole model faster, by a digest of the model's graph."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp

from stepwell import __version__
from stepwell.dialects.plugins.strategies import DEFAULT, STRATEGIES
from stepwell.passes.context import remark
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.records.database import file_bytes, parsed


class LevelOneOptions(Protocol):
    """The options of a compilation that a plan may set, as fields of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def memory(self) -> str:
        """`normal`, or `low`, which excludes plans."""
        ...


Options = TypeVar("Options", bound=LevelOneOptions)
ALTERNATIVES: Sequence[Mapping[str, object]] = (
    {"winograd": "fast"},
    {"winograd": "off"},
    {"required_passes": ["combine-parallel"]},
)
"""The choices that a plan may have for every model; others are ignored, but for strategies of plugins."""
_LISTS = ("required_passes",)
_PLAN = b'"kind":"plan"'


def alternatives() -> list[Mapping[str, object]]:
    """The possible choices of a plan, with a strategy of a plugin at all its nodes, or with none."""
    names = list(dict.fromkeys(key.name for key in STRATEGIES))
    return [*({"strategies": [f"*={name}?"]} for name in (*names, DEFAULT) if names), *ALTERNATIVES]


def graph_digest(module: ModuleOp) -> str:
    """A digest of the ops of a model, with the types of their results and how they are connected."""
    digest = hashlib.blake2b(digest_size=16)
    numbers: dict[object, int] = {}
    for op in module.walk():
        for result in op.results:
            numbers[result] = len(numbers)
        operands = [numbers.get(value, -1) for value in op.operands]
        types = [str(result.type) for result in op.results]
        digest.update(f"{op.name} {operands} {types}\n".encode())
    return digest.hexdigest()


def with_plan(
    module: ModuleOp, options: Options, target: TargetDescription, files: Sequence[Path]
) -> Options:
    """
    The options of a compilation with the best plan of databases; options that the user set stay.

    Raises: StepwellError of a file that cannot be read.
    """
    known = alternatives()
    plans = [
        plan
        for file in files
        for plan in parsed(file, file_bytes(file), lambda line: _PLAN in line).plans
        if plan.is_gain and plan.choices in known
    ]
    if not plans:
        return options
    here = graph_digest(module), target_digest(target), __version__
    mine = [p for p in plans if (p.graph, p.target, p.stepwell.partition("+")[0]) == here]
    mine = [p for p in mine if p.machine == machine_name()] or mine
    best = min(mine, key=lambda plan: (-plan.ratio[1], str(plan.choices)), default=None)
    if best is None or not is_free(options, best.choices):
        return options
    text = ", ".join(f"{name} = {value}" for name, value in best.choices.items())
    remark(module, f"tuned plan: {text}, {best.ratio[0]:.2f} times as fast")
    return chosen(options, best.choices)


def is_free(options: LevelOneOptions, choices: Mapping[str, object]) -> bool:
    """Whether the user left the options of a plan as they are by default."""
    default = type(options)()
    return options.memory == "normal" and all(
        name in _LISTS or getattr(options, name) == getattr(default, name) for name in choices
    )


def chosen(options: Options, choices: Mapping[str, object]) -> Options:
    """The options with the choices of a plan."""
    more: dict[str, object] = {}
    for name, value in choices.items():
        more[name] = (*getattr(options, name), *cast("Sequence[str]", value)) if name in _LISTS else value
    return replace(options, **more)  # pyright: ignore[reportArgumentType]  # of `alternatives`
