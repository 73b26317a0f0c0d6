"""Plans: options of level 1 that made a whole model faster, by a digest of the model's graph."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp

from stepwell import __version__
from stepwell.dialects.locations import node_name
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
NODES = "nodes"
"""The choice of strategies by nodes, whose keys are those of `keys_of`."""
_MOST_NODES = 10_000
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


def keys_of(module: ModuleOp) -> dict[str, str]:
    """The keys of the nodes of a model on level 1, by name: digests of op, attributes and types."""
    found: dict[str, str] = {}
    for op in module.walk():
        if not (name := node_name(op)):
            continue
        given = {**op.properties, **op.attributes}
        types = [str(value.type) for value in (*op.operands, *op.results)]
        text = f"{op.name} {[f'{key} = {each}' for key, each in sorted(given.items())]} {types}"
        found.setdefault(name, hashlib.blake2b(text.encode(), digest_size=8).hexdigest())
    return found


def choices_text(choices: Mapping[str, object]) -> str:
    """The choices of a plan, for a reader."""
    words: list[str] = []
    for name, value in choices.items():
        if name == NODES:
            wanted = cast("Mapping[str, str]", value)
            words += [f"{count} kinds of nodes by {each}" for each, count in Counter(wanted.values()).items()]
        else:
            words.append(f"{name} = {value}")
    return ", ".join(words)


def _is_of_nodes(choices: Mapping[str, object]) -> bool:
    """Whether choices are strategies by nodes: they may come from anywhere."""
    nodes = choices.get(NODES)
    if len(choices) != 1 or not isinstance(nodes, Mapping):
        return False
    texts = [text for each in cast("Mapping[object, object]", nodes).items() for text in each]
    return len(texts) <= 2 * _MOST_NODES and all(isinstance(text, str) and text.isalnum() for text in texts)


def _option(name: str) -> str:
    """The option that a choice sets."""
    return "strategies" if name == NODES else name


def with_plan(
    module: ModuleOp,
    options: Options,
    target: TargetDescription,
    files: Sequence[Path],
    on_level_1: Callable[[], ModuleOp] | None = None,
) -> Options:
    """
    The options of a compilation with the best plan of databases; options that the user set stay.

    Args: `on_level_1` makes a copy of the model on level 1, for plans by nodes (default: the model itself).

    Raises: StepwellError of a file that cannot be read.
    """
    known = alternatives()
    plans = [
        plan
        for file in files
        for plan in parsed(file, file_bytes(file), lambda line: _PLAN in line).plans
        if plan.is_gain and (plan.choices in known or _is_of_nodes(plan.choices))
    ]
    if not plans:
        return options
    here = graph_digest(module), target_digest(target), __version__
    mine = [p for p in plans if (p.graph, p.target, p.stepwell.partition("+")[0]) == here]
    mine = [p for p in mine if p.machine == machine_name()] or mine
    best = min(mine, key=lambda plan: (-plan.ratio[1], str(plan.choices)), default=None)
    if best is None or not is_free(options, best.choices):
        return options
    text = choices_text(best.choices)
    remark(module, f"tuned plan: {text}, {best.ratio[0]:.2f} times as fast")
    return chosen(options, best.choices, on_level_1 or (lambda: module))


def is_free(options: LevelOneOptions, choices: Mapping[str, object]) -> bool:
    """Whether the user left the options of a plan as they are by default."""
    default = type(options)()
    return options.memory == "normal" and all(
        name in _LISTS or getattr(options, _option(name)) == getattr(default, _option(name))
        for name in choices
    )


def chosen(options: Options, choices: Mapping[str, object], on_level_1: Callable[[], ModuleOp]) -> Options:
    """The options with the choices of a plan for a model, of which `on_level_1` makes a copy."""
    more: dict[str, object] = {}
    for name, value in choices.items():
        if name == NODES:
            wanted = cast("Mapping[str, str]", value)
            nodes = [(node, wanted[key]) for node, key in keys_of(on_level_1()).items() if key in wanted]
            more["strategies"] = tuple(f"{node}={strategy}?" for node, strategy in nodes)
            continue
        more[name] = (*getattr(options, name), *cast("Sequence[str]", value)) if name in _LISTS else value
    return replace(options, **more)  # pyright: ignore[reportArgumentType]  # of `alternatives`
