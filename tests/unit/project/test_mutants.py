"""`make mutants`: changes of each operator, the sample, the record of reached lines, trials, the report."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants import trial
from tests.mutants.operators import Mutation, is_inside_function, mutations
from tests.mutants.reach import same_line
from tests.mutants.results import Results, equivalents, faults, report
from tests.mutants.sample import Mutant, draw
from tests.mutants.tree import source_files
from tests.mutants.trial import Outcome, run_tests, try_mutant
from tests.support.samples import whole

CASES: list[tuple[str, str, set[str]]] = [
    ("comparison", "a < b", {"a <= b"}),
    ("comparison", "a is not b", {"a is b"}),
    ("comparison", "x = a == b != c", {"x = a != b != c", "x = a == b == c"}),
    ("off by one", "f(a, 3)", {"f(a, 4)"}),
    ("off by one", "x: Literal[3] = y", set()),
    ("condition", "x = a and b and c", {"x = ((b) and (c))", "x = ((a) and (c))", "x = ((a) and (b))"}),
    ("condition", "x = not a", {"x = bool(a)"}),
    ("condition", "if a: b()", {"if False: b()"}),
    ("condition", "if (b := a): print(b)", set()),
    ("condition", "x = a if b else c", {"x = a if True else c"}),
    ("condition", "x = [a for a in b if a]", {"x = [a for a in b if True]"}),
    ("operands", "a - b", {"(b) - (a)"}),
    ("operands", "a + b", set()),
    ("operands", "f(a, b.c, 1)", {"f((b.c), (a), 1)"}),
    ("operands", "'%s' % a", set()),
    ("operands", "isinstance(a, b)", set()),
    ("operands", "max(a, b)", set()),
    ("verifier", "if a: raise E(b)", {"if False: raise E(b)"}),
    ("verifier", "self._check_size(a)", {"pass"}),
    ("verifier", "f(a)", set()),
    ("nan check", "np.isnan(a).any()", {"(np.isnan(a) & False).any()"}),
    ("nan check", "isfinite(a)", {"(isfinite(a) | True)"}),
    ("nan check", "f('une')", {'f("one")'}),
    ("nan check", "np.maximum(a)", {"np.fmax(a)"}),
    ("nan check", "a.maximum(b)", set()),
    ("alignment", "f(alignment=64)", {"f(alignment=2 * (64))"}),
    ("alignment", "f(PAGE_ALIGNMENT)", {"f(2 * PAGE_ALIGNMENT)"}),
    ("alignment", "PAGE_ALIGNMENT = 64", {"PAGE_ALIGNMENT = 2 * (64)"}),
]


@pytest.mark.parametrize(("operator", "text", "expected"), CASES, ids=[f"{o}: {t}" for o, t, _ in CASES])
def test_operators(operator: str, text: str, expected: set[str]) -> None:
    assert {m.apply(text) for m in mutations(text) if m.operator == operator} == expected


def test_positions_are_bytes() -> None:
    (mutation,) = mutations('x = "ä→"; y = 1')
    assert mutation.apply('x = "ä→"; y = 1') == 'x = "ä→"; y = 2'


def test_texts_types_and_logs_stay() -> None:
    source = '''
if TYPE_CHECKING:
    from a import b
@cache(1)
def f(x: Literal[1] = a) -> Array[2]:
    """One of 3 < 4."""
    assert x < 5
    _LOG.debug("6", 7)
    return cast("T[8]", x)
def g(x):
    raise StepwellError("code", x, f"{x + 9}")
'''
    assert mutations(source) == []


def test_lines_outside_of_functions_are_known() -> None:
    source = "A = 1\n@b(2)\ndef f(x=3):\n    return 4\nC = 5\n"
    assert [is_inside_function(source, line) for line in range(1, 6)] == [False, False, False, True, False]


@whole
def test_samples_are_even_over_folders_and_parse() -> None:
    files = [file for file in source_files() if file.startswith(("patterns/", "runtime/l", "passes/loop/"))]
    sample = draw(files, 38, seed=1)
    drawn = Counter(mutant.file.rpartition("/")[0] for mutant in sample)
    assert drawn.keys() == {file.rpartition("/")[0] for file in files}
    assert max(drawn.values()) - min(drawn.values()) <= 1
    for mutant in sample:
        compile(mutant.text(), mutant.file, "exec")
        assert mutant.text() != mutant.source
    assert sample[:8] == draw(files, 8, seed=1) != draw(files, 8, seed=2)


def test_lines_are_found_in_the_text_of_the_record() -> None:
    old, new = ["a", "b", "c", "d"], ["x", "a", "b", "new", "c", "d"]
    assert [same_line(old, new, line) for line in range(1, 7)] == [1, 1, 2, 2, 3, 4]


MUTANT = Mutant("patterns/f.py", Mutation(11, 12, "2", "off by one", 2), "def f():\n  1\n")


def test_results_go_on(tmp_path: Path) -> None:
    other = Mutant("lowering/g.py", Mutation(0, 1, "2", "off by one", 1), "1")
    results = Results(lambda _: "digest", tmp_path / "results")
    assert results.of(MUTANT) is None
    results.add(MUTANT, Outcome("survived"))
    results.add(other, Outcome("killed", "a test"))
    again = Results(lambda _: "digest", tmp_path / "results")
    assert again.of(MUTANT) == Outcome("survived")
    changed = Results(lambda _: "new tests", tmp_path / "results")
    assert changed.of(MUTANT) is None, "a survivor is tried again when the tests have changed"
    assert changed.of(other) == Outcome("killed", "a test")


def test_report_has_the_survivors() -> None:
    killed = [Mutant("lowering/f.py", Mutation(0, 1, str(i), "off by one", 1), "1") for i in range(2, 20)]
    outcomes = {MUTANT: Outcome("survived", tests=3)} | {mutant: Outcome("killed") for mutant in killed}
    text = report(outcomes, {})
    assert "19 mutants: 18 killed, 1 survived, of which 0 are equivalent: 94.7% killed" in text
    assert "## patterns/f.py:2: off by one\n```diff\n- 1\n+ 2\n```\nsurvived 3 tests" in text
    assert faults(outcomes, {}) == ["patterns/f.py:2: off by one: none may survive here"]
    assert faults(outcomes, {MUTANT.key: "both are true"}) == []
    assert "both are true" in report(outcomes, {MUTANT.key: "both are true"})
    few = {mutant: Outcome("survived") for mutant in killed[:3]} | {m: Outcome("killed") for m in killed[3:]}
    assert faults(few, {}) == ["3 of 18 mutants survived"]


def test_equivalents_are_read(tmp_path: Path) -> None:
    file = tmp_path / "equivalent.md"
    file.write_text("# Title\n\n## patterns/f.py\n```diff\n- 1\n+ 2\n```\nNot\nused.\n", encoding="utf-8")
    assert equivalents(file) == {MUTANT.key: "Not used."}


def test_listed_equivalents_have_a_reason() -> None:
    assert all(equivalents().values())


TREE = {
    "patterns/f.py": "def f():\n  return 1\n",
    "stepwell/__init__.py": "",
    "tests/test_f.py": (
        "import time\nfrom patterns.f import f\n"
        "def test_quick(): assert f()\n"
        "def test_slow(): assert f() != 2 and not (f() == 3 and time.sleep(60))\n"
    ),
}
TESTS = {"tests/test_f.py::test_quick": 0.0, "tests/test_f.py::test_slow": 0.5}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of a small tree, with our plugin for trials."""
    for name, text in TREE.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text, encoding="utf-8")
    plugin = Path(__file__).parents[2] / "mutants" / "trial_plugin.py"
    (tmp_path / "tree" / "tests" / "mutants").mkdir()
    shutil.copy(plugin, tmp_path / "tree" / "tests" / "mutants")
    (tmp_path / "tree" / "pytest.ini").write_text(
        "[pytest]\nmarkers = slow\npythonpath = .", encoding="utf-8"
    )
    return tmp_path / "tree"


def _returns(number: str) -> Mutant:
    return Mutant("patterns/f.py", Mutation(18, 19, number, "off by one", 2), TREE["patterns/f.py"])


def test_trials(tree: Path) -> None:
    assert try_mutant(_returns("2"), tree, {}).status == "unreached"
    outcome = try_mutant(_returns("2"), tree, TESTS)
    assert (outcome.status, outcome.by, outcome.tests) == ("killed", "tests/test_f.py::test_slow", 2)
    outcome = try_mutant(_returns("1.0"), tree, TESTS)
    assert (outcome.status, outcome.tests) == ("survived", 2)
    outcome = try_mutant(_returns("os.abort()"), tree, TESTS)
    assert (outcome.status, outcome.by, outcome.tests) == ("killed", "tests/test_f.py::test_quick", 1)
    assert (tree / "patterns" / "f.py").read_text(encoding="utf-8") == TREE["patterns/f.py"]
    assert run_tests(tree, TESTS).status == "survived"


@whole
def test_a_test_that_is_gone_kills_nothing(tree: Path) -> None:
    with pytest.raises(RuntimeError, match="no test was found"):
        run_tests(tree, {"tests/test_gone.py::test_it": 0.1})
    with pytest.raises(RuntimeError, match="no test was found"):
        run_tests(tree, {"tests/test_f.py::test_gone": 0.1})


def test_trials_have_a_limit(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress = tree.with_name("tree-files") / "progress"

    def clock() -> float:
        """The time is up once the slow test has begun, however long pytest took to start."""
        return 4.0 if progress.exists() and "test_slow" in progress.read_text(encoding="utf-8") else 0.0

    monkeypatch.setattr(trial, "monotonic", clock)
    outcome = try_mutant(_returns("3"), tree, TESTS, limit_s=3)
    assert (outcome.status, outcome.reason, outcome.tests) == ("survived", "the time was up", 2)


def test_the_command_lists_the_sample() -> None:
    command = [sys.executable, "-m", "tests.mutants", "--list", "--only", "patterns", "--count", "2"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len([line for line in listed if line.startswith("patterns/")]) == 2
