"""
The words of the code: docstrings, comments, summaries of passes and messages of errors in plain English.

CONTRIBUTING.md has the table of words and their replacements. Every finding under files or folders:
`python -m tests.unit.project.test_prose [PATH ...]`. The measure is blind: a good sentence may be a finding,
which is why the limits are not 0, and a bad one may be none.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path

import pytest

from stepwell.runtime.collector import collector_paused
from tests.support.imports import tree_of

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("dialects", "frontend", "lowering", "passes", "patterns", "runtime", "stepwell", "tools")

LIMITS = {"opening": 10, "pronouns": 90, "word": 20, "verb": 80}
"""
The most findings of a kind in all folders together.

`opening`: first sentences that begin with a question word or "One". `pronouns`: first sentences with three or
more relative or personal pronouns. `word`: words of a vocabulary of our own. `verb`: stand, lie, hold, keep
and take where another verb says more.
"""
SPARE = 1
"""How many findings more than its share a folder may have: shares of small folders are less than one."""

_OPENING = re.compile(r"(What|How|Where|Which|One)\b")
_PRONOUN = re.compile(r"\b(that|which|what|who|it|its|they|one|those|where)\b", re.IGNORECASE)
_MOST_PRONOUNS = 2
_COMMENT = re.compile(r"(?:^\s*|  )(#.*)")

_WORDS = (
    r"turned(?! (?:on|off|out|into)\b)",
    r"in front of",
    r"(?<!leaves )(?<!left )behind",
    r"(?:told|tells?)(?! \w+ apart\b)",
    r"pitch(?:es)?",
    r"border(?:s|ed)?",
    r"zeros around",
    r"row ops?",
    r"(?<!in )(?<!few )(?<!stop )(?<!other )(?<!user's )(?<!-byte )words?(?! (?:by word|for)\b)",
    r"nobody",
    r"pictures?",
)
# "stands for", "a rule that holds" and "keeps every digit" say what they mean.
_VERBS = (
    r"(?:stands?|stood|standing)(?! (?:in )?for\b)(?!-)",
    r"(?:lies?|lay)(?! out\b)",
    r"(?:holds?|held)(?![.,;:)]|$| (?:for|at|in every|elsewhere|as)\b)",
    r"(?:keeps?|takes?)(?=[.,;:)]|$)",
)
_WORD, _VERB = (re.compile(rf"\b(?:{'|'.join(group)})\b", re.IGNORECASE) for group in (_WORDS, _VERBS))

# The functions whose text users read, and their parameters that are text.
_SPEAKERS = frozenset({"StepwellError", "InternalError", "VerifyException", "Entry", "remark"})
_SPOKEN = frozenset({"help", "note"})


@dataclass(frozen=True)
class Text:
    """A piece of prose: a docstring, a comment, a summary or a message."""

    file: Path
    line: int
    text: str
    is_docstring: bool = False

    @property
    def first_sentence(self) -> str:
        """The first sentence of the first paragraph, code spans left out."""
        paragraph = " ".join(self.text.strip().split("\n\n")[0].split())
        return re.split(r"(?<=[.!?;])\s", _without_code(paragraph))[0]


@dataclass(frozen=True)
class Finding:
    """A sentence to mend: its place, the limit that it counts for, and the words that gave it away."""

    file: Path
    line: int
    kind: str
    found: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.kind} ({self.found}): {self.sentence}"


def _without_code(text: str) -> str:
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return re.sub(r"`[^`]*`", "CODE", text)


def texts_of(file: Path) -> Iterator[Text]:
    """The prose of a source file, docstrings first."""
    source = file.read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    quoted: set[int] = set()
    """The lines of texts of several lines, in which a `#` begins no comment."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Constant | ast.JoinedStr) and (last := node.end_lineno or 0) > node.lineno:
            quoted.update(range(node.lineno, last + 1))
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield Text(file, getattr(node, "lineno", 1), text, is_docstring=True)
        body = node.body if isinstance(node, (ast.Module, ast.ClassDef)) else []
        for statement in body[1:]:
            if isinstance(statement, ast.Expr) and (text := _spoken(statement.value)):
                yield Text(file, statement.lineno, text)  # of an attribute or a constant
        if isinstance(node, ast.Call):
            yield from (Text(file, node.lineno, text) for text in _messages(node))
    for number, line in enumerate(source.splitlines(), 1):
        # Tokens would say it exactly, and take longer than all the rest.
        if number not in quoted and "#" in line and (found := _COMMENT.search(line)):
            yield Text(file, number, found[1])


def _messages(call: ast.Call) -> Iterator[str]:
    """The texts for users among the arguments of a call."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    positional = call.args if name in _SPEAKERS else []
    named = [keyword.value for keyword in call.keywords if keyword.arg in _SPOKEN]
    yield from filter(None, map(_spoken, (*positional, *named)))


def _spoken(node: ast.expr) -> str:
    """A string, or an f-string with its expressions left out; empty for another expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_spoken, node.values))
    return "CODE" if isinstance(node, ast.FormattedValue) else ""


def findings_of(text: Text) -> Iterator[Finding]:
    """The findings in a piece of prose."""
    first = text.first_sentence
    if text.is_docstring and (match := _OPENING.match(first)):
        yield Finding(text.file, text.line, "opening", match[0], first)
    if text.is_docstring and len(pronouns := _PRONOUN.findall(first)) > _MOST_PRONOUNS:
        yield Finding(text.file, text.line, "pronouns", ", ".join(pronouns), first)
    for sentence in re.split(r"(?<=[.!?;])\s", " ".join(_without_code(text.text).split())):
        for kind, pattern in (("word", _WORD), ("verb", _VERB)):
            for match in pattern.finditer(sentence):
                yield Finding(text.file, text.line, kind, match[0], sentence)


def files_under(path: Path) -> Iterator[Path]:
    """The sources of a folder, links left out; a file itself."""
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return (file for file in files if file.resolve() == file)


def findings_under(paths: Iterable[Path]) -> list[Finding]:
    """All findings of files and folders, in order."""
    texts = (text for path in paths for file in files_under(path) for text in texts_of(file))
    with collector_paused():
        return [finding for text in texts for finding in findings_of(text)]


def findings_in(folder: str, kind: str) -> Sequence[Finding]:
    """The findings of a kind in a top folder."""
    return [finding for finding in _all_in(folder) if finding.kind == kind]


@cache
def _all_in(folder: str) -> Sequence[Finding]:
    return findings_under([ROOT / folder])


@cache
def share_of(folder: str) -> float:
    """The size of a folder's sources as a share of all."""
    sizes = {name: sum(file.stat().st_size for file in files_under(ROOT / name)) for name in FOLDERS}
    return sizes[folder] / sum(sizes.values())


def report(findings: Iterable[Finding]) -> str:
    """The findings as lines of text."""
    return "\n".join(map(str, findings))


@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_has_no_more_findings_than_its_share(folder: str, kind: str) -> None:
    found, most = findings_in(folder, kind), SPARE + ceil(LIMITS[kind] * share_of(folder))
    assert len(found) <= most, f"{len(found)} of {most} in {folder}/\n{report(found)}"


@pytest.mark.parametrize("kind", LIMITS)
def test_all_folders_together_keep_the_limit(kind: str) -> None:
    counts = {folder: len(findings_in(folder, kind)) for folder in FOLDERS}
    assert sum(counts.values()) <= LIMITS[kind], f"{sum(counts.values())} of {LIMITS[kind]}: {counts}"


def main(paths: list[str]) -> None:
    """Print the findings under some paths, and how many there are of each kind; only Python is read."""
    given = [Path(path).resolve() for path in paths or FOLDERS]
    for path in given:
        if not path.is_dir() and path.suffix != ".py":
            print(f"{path.name} is skipped: it is no .py file")
    found = findings_under(path for path in given if path.is_dir() or path.suffix == ".py")
    print(report(found))
    counts = Counter(finding.kind for finding in found)
    print("; ".join(f"{kind}: {counts[kind]} (limit of the tree: {most})" for kind, most in LIMITS.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
