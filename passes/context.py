"""
The pass context: which passes run, with which options and instruments; their remarks and counters.

Contexts are scoped (`with`), one stack per thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from copy import copy
from dataclasses import MISSING, Field, dataclass, fields
from types import TracebackType
from typing import Self, cast, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.hints import isa, type_repr

from stepwell.passes.base import Pass
from stepwell.passes.instruments import Instrument
from stepwell.passes.registry import canonical_name, load_pass, our_passes
from stepwell.runtime.errors import StepwellError, describe_location, did_you_mean
from stepwell.runtime.log import follow_passes, logger

DEFAULT_OPT_LEVEL = 2
_log = logger(__name__)
_NO_PASS = "none"
"""The name under which remarks and counters are filed that arise while no pass runs."""


@dataclass(frozen=True)
class ConfigOption:
    """A key of `PassContext(config=…)`: the type of its values, a default and a summary."""

    type: object
    default: object
    summary: str = ""

    def __str__(self) -> str:
        return f"{type_repr(self.type)} = {self.default!r}" + (f"  ({self.summary})" if self.summary else "")


@dataclass(frozen=True)
class Remark:
    """A message of a pass to the user about an op, mostly why an expected rewrite did not happen."""

    pass_name: str
    where: str
    message: str

    def __str__(self) -> str:
        said_by = f" (pass {self.pass_name})" if self.pass_name != _NO_PASS else ""
        return f"remark: {self.message}\n  --> {self.where or 'unknown place'}{said_by}"


_CONFIGS: dict[str, ConfigOption] = {}


def register_config(key: str, type: object, default: object, summary: str) -> None:
    """Add a config key that belongs to no pass; options of passes (`fuse-ops.max-ops`) are keys already."""
    _CONFIGS[key] = ConfigOption(type, default, summary)


def list_configs() -> dict[str, ConfigOption]:
    """Maps all config keys, registered ones and options of our passes, to their types and defaults."""
    options = dict(_CONFIGS)
    for name in our_passes():
        options |= _pass_options(load_pass(name))
    return dict(sorted(options.items()))


def _pass_options(pass_class: type[ModulePass]) -> dict[str, ConfigOption]:
    hints = get_type_hints(pass_class)
    return {
        f"{pass_class.name}.{field.name.replace('_', '-')}": ConfigOption(hints[field.name], _default(field))
        for field in fields(pass_class)
        if field.init and field.name != "name"
    }


def _default(field: Field[object]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if field.default is MISSING else field.default


def _check_config(key: str, value: object) -> None:
    option = _CONFIGS.get(key)
    if option is None and "." in key and (name := canonical_name(key.partition(".")[0])) is not None:
        option = _pass_options(load_pass(name)).get(key)
    if option is None:
        help = f"{did_you_mean(key, list_configs())}`stepwell-opt --list-configs` lists them all"
        raise StepwellError("bad-config", None, f"no config key is named {key!r}", help=help)
    if not isa(value, option.type):  # pyright: ignore[reportArgumentType]  # a type form, as annotations hold
        wanted = f"{key} must be {type_repr(option.type)}, found {value!r}"
        raise StepwellError("bad-config", None, wanted)


class PassContext:
    """
    A scope for passes: `with PassContext(opt_level=3, disabled_pass=["fuse-ops"]): run_pipeline(…)`.

    Args: `opt_level`: passes with a higher one are skipped; `required_pass` run whatever their level;
    `disabled_pass` never run in a pipeline (disabled wins over required); `config` sets options of passes,
    such as `{"fuse-ops.max-ops": 64}`, where a pipeline's text does not; `instruments` watch, in list order;
    `reproducers`: whether an internal error writes the IR before the failing pass to a file.
    Raises: StepwellError `bad-config`, `bad-option`, `unknown-pass`.
    """

    def __init__(
        self,
        *,
        opt_level: int = DEFAULT_OPT_LEVEL,
        required_pass: Sequence[str] = (),
        disabled_pass: Sequence[str] = (),
        config: Mapping[str, object] | None = None,
        instruments: Sequence[Instrument] = (),
        reproducers: bool = True,
    ):
        if opt_level not in range(4):
            raise StepwellError("bad-option", None, f"opt_level must be from 0 to 3, found {opt_level!r}")
        self.opt_level = opt_level
        self.required_pass = _names(required_pass)
        self.disabled_pass = frozenset(_names(disabled_pass))
        self.config = dict(config or {})
        for key, value in self.config.items():
            _check_config(key, value)
        self.instruments = list(instruments)
        self.reproducers = reproducers
        self.remarks: list[Remark] = []
        self.counters: dict[str, Counter[str]] = {}
        self.running: list[str] = []
        """The names of the passes that run now, the innermost last."""
        self._tokens: list[Token[PassContext | None]] = []

    @staticmethod
    def current() -> PassContext:
        """The innermost context of this thread; a new one with the defaults when there is none."""
        return _CURRENT.get() or PassContext()

    @staticmethod
    def is_entered() -> bool:
        """Whether this thread runs inside of a `with PassContext(…)`, or under the defaults."""
        return _CURRENT.get() is not None

    def __enter__(self) -> Self:
        self._tokens.append(_CURRENT.set(self))
        entered: list[Instrument] = []
        try:
            for instrument in self.instruments:
                instrument.enter_pass_ctx()
                entered.append(instrument)
        except BaseException:
            self.instruments = []
            _CURRENT.reset(self._tokens.pop())
            for instrument in entered:
                instrument.exit_pass_ctx()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _CURRENT.reset(self._tokens.pop())
        try:
            for instrument in self.instruments:
                instrument.exit_pass_ctx()
        except BaseException:
            self.instruments = []
            raise

    @contextmanager
    def active(self) -> Generator[None]:
        """Make this the current context without entering it: its instruments are not notified."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    @contextmanager
    def watched_by(self, instruments: Sequence[Instrument]) -> Generator[None]:
        """Enter a copy of this context with more instruments; this one's are not notified again."""
        derived = copy(self)
        derived.instruments = list(instruments)
        with derived:
            derived.instruments = [*self.instruments, *instruments]
            try:
                yield
            finally:
                derived.instruments = list(instruments)

    def at_level(self, opt_level: int) -> PassContext:
        """This context with another `opt_level`: watched by the same instruments, into the same remarks."""
        derived = copy(self)
        derived.opt_level = opt_level
        return derived

    def choosing(self, required: Sequence[str], disabled: Sequence[str]) -> PassContext:
        """This context with more passes that always run, or never. Raises: StepwellError `unknown-pass`."""
        derived = copy(self)
        derived.required_pass = _names((*self.required_pass, *required))
        derived.disabled_pass = self.disabled_pass.union(_names(disabled))
        return derived

    def alters(self, runs: range) -> bool:
        """Whether this context may change the code that pass runs of some numbers make: no cache has it."""
        chooses = bool(self.config or self.required_pass or self.disabled_pass)
        return chooses or any(instrument.alters(runs) for instrument in self.instruments)

    def with_own_remarks(self) -> PassContext:
        """This context with a list of remarks of its own, empty as yet."""
        derived = copy(self)
        derived.remarks = []
        return derived

    def enabled(self, step: ModulePass) -> bool:
        """Whether a pipeline runs a pass: `disabled_pass` wins, then `required_pass`, then the level."""
        if step.name in self.disabled_pass:
            return False
        level = step.opt_level if isinstance(step, Pass) else 0
        return step.name in self.required_pass or self.opt_level >= level

    def options_of(self, pass_name: str) -> dict[str, object]:
        """The options that `config` sets for a pass, by field name."""
        prefix = f"{pass_name}."
        return {
            key.removeprefix(prefix).replace("-", "_"): value
            for key, value in self.config.items()
            if key.startswith(prefix)
        }

    def as_data(self) -> dict[str, object]:
        """The arguments of an equal context, without instruments, for other processes: `PassContext(**…)`."""
        return {
            "opt_level": self.opt_level,
            "required_pass": list(self.required_pass),
            "disabled_pass": sorted(self.disabled_pass),
            "config": self.config,
            "reproducers": self.reproducers,
        }


def _names(given: Sequence[str]) -> tuple[str, ...]:
    """The names of passes that are given by name or alias, in order, each once; text has commas between."""
    given = given.split(",") if isinstance(given, str) else given
    return tuple(dict.fromkeys(load_pass(name.strip()).name for name in given))


_CURRENT: ContextVar[PassContext | None] = ContextVar("stepwell_pass_context", default=None)
follow_passes(lambda: () if (context := _CURRENT.get()) is None else context.running)


def remark(where: object, message: str) -> None:
    """Add a remark of the running pass about an op to the context, such as `not fused: %3 has two uses`."""
    context = PassContext.current()
    context.remarks.append(Remark(_running(context), describe_location(where), message))
    _log(2, message, node=where)


def count(what: str, amount: int = 1) -> None:
    """Increase a counter of the running pass, such as `rewrites` or `bytes saved`, in the current context."""
    context = PassContext.current()
    context.counters.setdefault(_running(context), Counter())[what] += amount


def _running(context: PassContext) -> str:
    return context.running[-1] if context.running else _NO_PASS


def config_value(text: str) -> object:
    """A config value as written on the command line: an int, a float, `true`, `false`, or text."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    return cast(object, {"true": True, "false": False}.get(text, text))
