"""The specification of the log, such as `fuse-ops=2,lowering/schedules=1,DEFAULT=0`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from stepwell.runtime.errors import StepwellError

DEFAULT = "DEFAULT"
MAX_LEVEL = 3
_ROOT = Path(__file__).parents[2]
_FOLDERS = ("dialects", "frontend", "lowering", "passes", "patterns", "runtime", "tools")


class Entry(NamedTuple):
    """An entry: the parts of a path, and the level; with a pass, messages while it runs are meant."""

    parts: Sequence[str]
    level: int
    step: str = ""

    def matches(self, module: Sequence[str], running: Sequence[str]) -> bool:
        """Whether an entry is about a module, of which it may leave parts out, or about a running pass."""
        if self.step:
            return self.step in running
        parts = iter(module)
        return all(part in parts for part in self.parts)


class Spec(NamedTuple):
    """The entries in their order, and the level of all else."""

    entries: Sequence[Entry] = ()
    default: int = 0

    @property
    def most(self) -> int:
        """The highest level that any message is reported of."""
        return max((self.default, *(entry.level for entry in self.entries)))

    def limit(self, logger: str, running: Sequence[str]) -> int:
        """The highest level that a logger reports: of the entry with most parts, a pass before a path."""
        module = logger.split(".")[1:]
        found = [entry for entry in self.entries if entry.matches(module, running)]
        best = max(found, key=lambda e: (len(e.parts), bool(e.step)), default=None)
        return self.default if best is None else best.level


def read_spec(texts: Iterable[tuple[str, str]], passes: Mapping[str, tuple[str, str]] | None = None) -> Spec:
    """
    The specification of texts with the names of their sources; an entry of a later one wins.

    Args: `passes` maps the names of passes to the registered name and the path of its module; without it, a
    name without `/` that no module has is taken for a pass.
    Raises: StepwellError `bad-option`.
    """
    entries: dict[str, Entry] = {}
    for source, text in texts:
        for item in filter(None, (part.strip() for part in text.split(","))):
            name, _, level = (DEFAULT, "", item) if item.isdecimal() else item.partition("=")
            if not level.isdecimal() or int(level) > MAX_LEVEL:
                message = f"expected NAME=LEVEL, with a level from 0 to {MAX_LEVEL}, found {item!r}"
                help = "such as fuse-ops=2,passes/tensor=1,DEFAULT=0"
                raise StepwellError("bad-option", source, message, help=help)
            entries[name] = _entry(name, int(level), source, passes)
    default = entries.pop(DEFAULT, None)
    return Spec(tuple(entries.values()), default.level if default else 0)


def _entry(name: str, level: int, source: str, passes: Mapping[str, tuple[str, str]] | None) -> Entry:
    if name == DEFAULT:
        return Entry((), level)
    if passes is not None and name in passes:
        step, path = passes[name]
        return Entry(path.split("/"), level, step)
    entry = Entry(name.replace(".", "/").removeprefix("stepwell/").split("/"), level)
    if any(entry.matches(module.split("/"), ()) for module in _modules()):
        return entry
    if passes is None and len(entry.parts) == 1:
        return Entry((name,), level, name)
    if len(entry.parts) > 1:
        message, nearest = f"no module {'/'.join(entry.parts)}", _nearest(entry.parts)
    else:
        from difflib import get_close_matches

        near = get_close_matches(name, [*(passes or ()), *_names()], n=1, cutoff=0)
        message, nearest = f"no pass or module {name}", near[0]
    raise StepwellError("bad-option", source, f"{message}; nearest: {nearest}")


def _names() -> Iterable[str]:
    """The last parts of the paths of modules."""
    return {module.rpartition("/")[2] for module in _modules()}


@cache
def _modules() -> Sequence[str]:
    """The paths of all modules, such as `passes/graph/fusion/fuse_ops`."""
    files = (file for folder in _FOLDERS for file in (_ROOT / folder).rglob("*.py"))
    paths = (file.relative_to(_ROOT).with_suffix("") for file in files)
    return sorted((path.parent if path.name == "__init__" else path).as_posix() for path in paths)


def _nearest(parts: Sequence[str]) -> str:
    """The path of the module with the most similar name; of several, the one with the most similar path."""
    from difflib import SequenceMatcher

    def likeness(module: str) -> tuple[float, float]:
        name = SequenceMatcher(None, module.rpartition("/")[2], parts[-1].replace("-", "_"))
        return round(name.ratio(), 1), SequenceMatcher(None, module, "/".join(parts)).ratio()

    return max(_modules(), key=likeness)
