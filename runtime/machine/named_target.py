"""
`Target`: a device as users write it, by kind with attributes, by name, or by triple.

A target of the kind `cpu` resolves to a `TargetDescription`; others have one as their host.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from types import TracebackType
from typing import Any

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import TargetDescription, TileShares, target_from, tile_shares_of
from stepwell.runtime.targets.kind import Kind, Value, Values, bad_target, value_text
from stepwell.runtime.targets.registry import kind_named, kind_names, tags
from stepwell.runtime.targets.several import at_commas
from stepwell.runtime.targets.text import AUTO, CPU, Spelled, spelled, spelled_json

_FIELDS = {
    "features": "features",
    "cores": "cores",
    "l1": "l1_bytes",
    "l2": "l2_bytes",
    "l3": "l3_bytes",
    "vector": "vector_bytes",
    "vector-registers": "vector_registers",
}
"""Attributes of CPUs, and the fields of a description that they set."""


_AUTO = re.compile(rf"^(\s*(?:\w+\s*=\s*)?){AUTO}(?=\s|$)", re.ASCII)


class _Scopes(threading.local):
    """The targets of the `with` statements that a thread is in."""

    def __init__(self) -> None:
        self.stack: list[Target] = []


_SCOPES = _Scopes()


class Target:
    """
    A target. It can be hashed; two with the same kind, attributes and host are equal; `str` gives its text.

    `target["arch"]` is an attribute, with its default where it was not given. Inside of `with
    Target("cuda"):`, compilations without a target use this one.
    """

    def __init__(
        self,
        target: str | Mapping[str, object] | TargetDescription | Target,
        *,
        host: str | Mapping[str, object] | TargetDescription | Target | None = None,
    ):
        """
        Args: `target` is text, a dictionary of attributes, the description of a CPU, or a target; `host` is
        the CPU beside a device.
        Raises: StepwellError `unknown-target`, `bad-target`.
        """
        found = _spelled(target)
        kind = kind_named(found.kind)
        assert kind is not None
        self._kind: Kind = kind
        values = kind.read(found.attributes)
        self._given: Values = _given_cpu(values) if kind.name == CPU else kind.differing(values)
        self.tag = found.tag
        """The name of a device that the target was made from, or None."""
        self.host = _host(kind, found.host if host is None else host)
        """The CPU beside a device; None for this machine's."""
        self._cpu = _described(self._given) if kind.name == CPU else None

    @staticmethod
    def of(description: TargetDescription) -> Target:
        """The target of the kind `cpu` that resolves to a description."""
        return Target(description)

    @property
    def kind(self) -> str:
        """The name of the kind: `cpu`, `cuda`."""
        return self._kind.name

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of families that the kind belongs to, its own first."""
        return self._kind.keys

    @property
    def experimental(self) -> bool:
        """Whether no test ran code for the kind on a device."""
        return self._kind.experimental

    @property
    def only_triple(self) -> str | None:
        """The triple of a CPU that was given nothing else; None for others."""
        return str(self._given["triple"]) if [*self._given] == ["triple"] and self.kind == CPU else None

    @property
    def attrs(self) -> Mapping[str, Value]:
        """All attributes, defaults filled in."""
        if self._cpu is not None:
            return _cpu_attributes(self._given, self._cpu)
        return {**self._kind.defaults(self._given), **self._given}

    def has_feature(self, name: str) -> bool:
        """Whether its attribute `features` lists a name."""
        features = self.attrs.get("features")
        return isinstance(features, tuple) and name in features

    def __getitem__(self, name: str) -> Value:
        """An attribute. Raises: StepwellError `bad-target` for a name that is none."""
        if name not in self._kind.attributes:
            raise self._kind.no_attribute(name)
        return self.attrs[name]

    def cpu(self) -> TargetDescription:
        """The CPU by which code is made: of the target, of its host, or of this machine."""
        if self._cpu is not None:
            return self._cpu
        return target_from() if self.host is None else self.host.cpu()

    @staticmethod
    def kinds() -> tuple[str, ...]:
        """The names of kinds."""
        return kind_names()

    @staticmethod
    def tags(prefix: str = "") -> tuple[str, ...]:
        """The names of devices that begin with a prefix: `nvidia/`."""
        return tuple(name for name in tags() if name.startswith(prefix))

    @staticmethod
    def detect() -> tuple[Target, ...]:
        """
        The targets of what this machine has, best first: GPUs, then its CPU, then drivers without a GPU. The
        first one is what `Target("auto")` is.
        """
        # By name: devices have targets, so their folder imports this one.
        found: tuple[Target, ...] = import_module("stepwell.runtime.devices.detected").detected()
        return found

    @staticmethod
    def current() -> Target | None:
        """The target of the innermost `with` statement of this thread; None outside."""
        return _SCOPES.stack[-1] if _SCOPES.stack else None

    def __enter__(self) -> Target:
        _SCOPES.stack.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _SCOPES.stack.pop()

    def with_attrs(self, attributes: Mapping[str, object]) -> Target:
        """The target with other values of some attributes."""
        return Target({**self.to_json(), **attributes})

    def with_host(self, host: str | Target | None) -> Target:
        """The target with another host; None for this machine's CPU."""
        return Target({**self.to_json(), "host": host})

    def to_json(self) -> dict[str, object]:
        """The kind, the attributes that are no defaults and the host, as plain JSON values."""
        values = {key: list(v) if isinstance(v, tuple) else v for key, v in self._given.items()}
        host = {} if self.host is None else {"host": self.host.to_json()}
        return {"kind": self.kind, **values, **host}

    def __str__(self) -> str:
        attributes = " ".join(f"{key}={value_text(key, value)}" for key, value in self._given.items())
        text = f"{self.kind}{{{attributes}}}" if attributes else self.kind
        return text if self.host is None else f"{text} on {self.host}"

    def __repr__(self) -> str:
        return f"Target({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def with_detected(text: str) -> str:
    """
    A target's text, or several ones with commas, in which `auto` is the first target of this machine.

    The text is what caches are keyed by: the same `auto` is something else once a GPU is here.
    """
    if AUTO not in text:
        return text
    parts = at_commas(text)
    return ",".join(_AUTO.sub(lambda at: at[1] + str(Target.detect()[0]), part, 1) for part in parts)


def _spelled(target: str | Mapping[str, object] | TargetDescription | Target) -> Spelled:
    """A target's kind and unchecked attributes."""
    if isinstance(target, Target):
        return spelled_json(target.to_json())._replace(tag=target.tag)
    if isinstance(target, TargetDescription):
        return Spelled(CPU, _of_description(target))
    if isinstance(target, str):
        return spelled(with_detected(target))
    if isinstance(target, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # users pass anything
        return spelled_json(target)
    raise bad_target(f"a target is text, a dictionary or a Target, found {type(target).__name__}")


def _host(kind: Kind, host: Any) -> Target | None:
    """The host of a target of some kind. Raises: StepwellError `bad-target`."""
    if host is None:
        return None
    target = Target(host)
    if target.kind != CPU or kind.name == CPU:
        what = f"found {target.kind}" if target.kind != CPU else "and a cpu has no host"
        raise bad_target(f"a host must be a cpu target of a device, {what}")
    return target


def _given_cpu(values: Values) -> Values:
    """
    The attributes of a CPU that were given. Those that equal the defaults stay: here they are this machine's,
    and the text shall mean the same elsewhere.
    """
    return {key: value for key, value in values.items() if (key, value) != ("mcpu", "host")}


def _described(given: Values) -> TargetDescription:
    """The CPU with some attributes. Raises: StepwellError `unknown-target`, `bad-target`."""
    mcpu, triple = str(given.get("mcpu", "host")), given.get("triple")
    try:
        target = target_from(mcpu, None if triple is None else str(triple))
    except StepwellError as error:
        if error.code == "bad-option":  # a level and a triple of different architectures
            raise bad_target(error.message, help=error.help) from None
        raise
    fields: dict[str, Any] = {field: given[key] for key, field in _FIELDS.items() if key in given}
    if "tile-shares" in given:
        fields["tile_shares"] = _shares_of(given["tile-shares"])
    return replace(target, **fields)


def _cpu_attributes(given: Values, cpu: TargetDescription) -> Values:
    """All attributes of a CPU."""
    found: Values = {key: getattr(cpu, field) for key, field in _FIELDS.items()}
    mcpu = given.get("mcpu", "host")
    return {"mcpu": mcpu, "triple": cpu.triple, **found, "tile-shares": _shares_text(cpu.tile_shares)}


def _of_description(cpu: TargetDescription) -> Mapping[str, object]:
    """Attributes that resolve to a description on any machine."""
    attributes = dict(_cpu_attributes({}, cpu))
    del attributes["mcpu"]
    return {key: value for key, value in attributes.items() if value != ()}


def _shares_text(shares: TileShares) -> tuple[str, ...]:
    return tuple(f"{name}:{m}x{v}:{share!r}" for name, rows in shares for m, v, share in rows)


def _shares_of(texts: Value) -> TileShares:
    """The tile shares in texts such as `f32:6x2:0.98`."""
    assert isinstance(texts, tuple)
    rows: dict[str, list[tuple[str, str, str]]] = {}
    for text in texts:
        name, tile, share = str(text).split(":")
        m, v = tile.split("x")
        rows.setdefault(name, []).append((m, v, share))
    return tile_shares_of(list(rows.items()))
