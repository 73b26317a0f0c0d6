"""The difference of two texts of a module, under names that are stable: what a pass changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TypeAlias

MAX_DIFF_LINES = 20_000
"""Longer functions are not compared line by line: it takes minutes."""
_NAME = re.compile(r"(?<=[%^])[\w$.-]+")
_SYMBOL = re.compile(r"@[\w$.-]+")

Entry: TypeAlias = tuple[str, str, int, int]
"""A line of a diff: its sign and text, and its index in the function before and after."""


def text_diff(before: str, after: str) -> str:
    """
    The changed lines, function by function; equal functions, and functions that are too long, are skipped.

    For a function with a new name, one line gives both names; its calls do not count as changes. Values are
    compared by their definitions: a line has changed when its op, attributes or types differ, or when an
    operand is another value, not when values have other names. Removed lines use the names of the new text; a
    removed value whose name the new text uses for another value gets a quote: `%3'`.
    """
    old, new = _functions(before), _functions(after)
    renamed = _renamed(old, new)
    earlier = {name: other for other, name in renamed.items()}
    parts: list[str] = []
    for name in [*new, *(name for name in old if name not in new and name not in renamed)]:
        lines = old.get(earlier.get(name, name), []), new.get(name, [])
        if name in earlier:
            parts.append(f"@@ {name}: named {earlier[name]} before\n")
        if lines[0] == lines[1]:
            continue
        if max(map(len, lines)) > MAX_DIFF_LINES:
            parts.append(f"@@ {name}: {len(lines[0])} lines before, {len(lines[1])} after: too long\n")
            continue
        under_new_symbols = [_SYMBOL.sub(lambda m: renamed.get(m[0], m[0]), line) for line in lines[0]]
        parts += _hunks(name, list(_entries(under_new_symbols, lines[1])))
    return "".join(parts)


def _functions(text: str) -> dict[str, list[str]]:
    """The lines of a module by the function they are in; what is around the functions under the name ``."""
    found: dict[str, list[str]] = {"": []}
    name = ""
    for line in text.splitlines(keepends=True):
        if line.startswith(("  func.func ", "  llvm.func ")):
            name = line[: line.find("(")].split()[-1] if "(" in line else line.strip()
        found.setdefault(name, []).append(line)
        if line.startswith("  }"):
            name = ""
    return found


def _renamed(old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Renamed functions with their new names: matches by equal text first, then by equal signature."""
    found: dict[str, str] = {}
    for lines in (None, 1):
        waiting: dict[str, list[str]] = {}
        for name in new:
            if name not in old and name not in found.values():
                waiting.setdefault(_anonymous(new[name][:lines]), []).append(name)
        for name in old:
            if (
                name not in new
                and name not in found
                and (others := waiting.get(_anonymous(old[name][:lines])))
            ):
                found[name] = others.pop(0)
    return found


def _anonymous(lines: Sequence[str]) -> str:
    return _SYMBOL.sub("@", _NAME.sub("", "".join(lines)))


def _entries(old: Sequence[str], new: Sequence[str]) -> Iterator[Entry]:
    """All lines of a function, aligned by their text without names of values."""
    names = _Names({name for line in new for name in _NAME.findall(line)})
    bare = [[_NAME.sub("", line) for line in lines] for lines in (old, new)]
    for kind, i, end_i, j, end_j in _alignment(*bare):
        if kind == "equal":
            for at, to in zip(range(i, end_i), range(j, end_j), strict=True):
                if names.agree(old[at], new[to]):
                    yield " ", new[to], at, to
                else:
                    yield "-", names.under_new(old[at], {}), at, to
                    yield "+", new[to], at + 1, to
            continue
        names.forget(old[i:end_i], new[j:end_j])
        in_their_place: dict[str, str] = {}
        if end_i - i == end_j - j:  # ops that are replaced one by one
            for line, other in zip(old[i:end_i], new[j:end_j], strict=True):
                in_their_place |= zip(_defined(line), _defined(other), strict=False)
        yield from (("-", names.under_new(old[at], in_their_place), at, j) for at in range(i, end_i))
        yield from (("+", new[to], end_i, to) for to in range(j, end_j))


def _alignment(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """As `SequenceMatcher.get_opcodes`, quick where all changes are near each other."""
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[-1 - i] != new[-1 - i]), shorter - head)
    ends = len(old) - tail, len(new) - tail
    matcher = SequenceMatcher(None, old[head : ends[0]], new[head : ends[1]], autojunk=False)
    middle = [
        (kind, i + head, end_i + head, j + head, end_j + head)
        for kind, i, end_i, j, end_j in matcher.get_opcodes()
    ]
    return [("equal", 0, head, 0, head), *middle, ("equal", ends[0], len(old), ends[1], len(new))]


@dataclass
class _Names:
    """The names of one function's values before, and those of the same values after."""

    taken: Set[str]
    """All names after."""
    after: dict[str, str] = field(default_factory=dict[str, str])
    before: dict[str, str] = field(default_factory=dict[str, str])

    def agree(self, old: str, new: str) -> bool:
        """Whether two lines that are equal but for names define and read the same values."""
        agree = True
        for (a, is_definition), (b, _) in zip(_names(old), _names(new), strict=True):
            if is_definition:
                self._forget(a, b)
            if self.after.get(a, b) != b or self.before.get(b, a) != a:
                agree = False
            else:
                self.after[a], self.before[b] = b, a
        return agree

    def forget(self, old: Sequence[str], new: Sequence[str]) -> None:
        """Forget the values of lines without counterparts: they hide earlier values of the same names."""
        for line in old:
            for name in _defined(line):
                self._forget(name, "")
        for line in new:
            for name in _defined(line):
                self._forget("", name)

    def _forget(self, a: str, b: str) -> None:
        self.before.pop(self.after.pop(a, ""), None)
        self.after.pop(self.before.pop(b, ""), None)

    def under_new(self, old: str, more: Mapping[str, str]) -> str:
        """A line of before with the names of after, and `more` of them."""

        def name(match: re.Match[str]) -> str:
            own = match[0]
            return more.get(own) or self.after.get(own) or (f"{own}'" if own in self.taken else own)

        return _NAME.sub(name, old)


def _names(line: str) -> list[tuple[str, bool]]:
    """The names of a line, and whether it defines them: results, arguments, values bound to arguments."""
    text = line.lstrip()
    results = text.find(" = ") if text.startswith("%") else 0
    return [
        (m[0], text.startswith("^") or m.start() < results or text.startswith((" = ", ":"), m.end()))
        for m in _NAME.finditer(text)
    ]


def _defined(line: str) -> list[str]:
    return [name for name, is_definition in _names(line) if is_definition]


def _hunks(name: str, entries: Sequence[Entry]) -> Iterator[str]:
    """The changed lines, each with its neighbours."""
    changed = [index for index, (sign, *_) in enumerate(entries) if sign != " "]
    shown = sorted(
        {near for index in changed for near in (index - 1, index, index + 1)} & set(range(len(entries)))
    )
    for last, index in zip([-2, *shown], shown, strict=False):
        sign, line, i, j = entries[index]
        if index != last + 1:
            yield f"@@ {name}: line {i + 1} before, {j + 1} after\n"
        yield sign + line
