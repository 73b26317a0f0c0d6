"""Guards of torch's exported programs: read by a grammar, checked at each call."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.frontend.torch.expressions import UnknownExpression
from stepwell.frontend.torch.guards import GuardWarning, parse_guard
from stepwell.runtime.dims import Dim
from tests.support.imports import ROOT

SAMPLE = ROOT / "tests" / "models" / "torch" / "mlp.pt2"
GUARDS = (
    "(L['x'].size()[0] // 2) != 1",
    "(L['x'].size()[0] % 4) == 0",
    "L['d']['k'][0].size()[1] > L['x'].size()[0]",
    "L['x'].size()[0] < 2*L['d']['k'][0].size()[1] - 3",
    "max(3, L['x'].size()[0]) >= 5 and L['x'].size()[0] <= 20",
    "(L['x'].size()[0] % (L['x'].size()[0] // 4)) != 0",
    "-L['x'].size()[0] + Mod(L['d']['k'][0].size()[1], 5) != Min(4, L['x'].size()[0], 2)",
)


def size_of(name: str, axis: int) -> Dim | None:
    return {("x", 0): Dim.symbol("N"), ("d.k.0", 1): Dim.symbol("K")}.get((name, axis))


@pytest.mark.parametrize("text", GUARDS)
def test_a_guard_holds_for_the_sizes_for_which_python_says_so(text: str) -> None:
    class Tensor(tuple[int, ...]):
        def size(self) -> Tensor:
            return self

    guards = parse_guard(text, size_of)
    known = {"max": max, "min": min, "Min": min, "Mod": lambda a, b: a % b}  # type: ignore[no-untyped-call]
    answers: set[bool] = set()
    for n in range(1, 30):
        for k in (1, 2, 7, 19, 28):
            space: Mapping[str, object] = {"L": {"x": Tensor([n]), "d": {"k": [Tensor([0, k])]}}, **known}
            try:
                wanted = eval(text, dict(space))
            except ZeroDivisionError:
                continue
            sides = [[side.evaluate({"N": n, "K": k}) for side in guard.equal()] for guard in guards]
            assert all(left == right for left, right in sides) == wanted
            answers.add(wanted)
    assert len(answers) == 2 or "Mod" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("L['y'].size()[0] == 1", "no size of an input"),
        ("L['flag'] == True", "unexpected"),
        ("__import__('os').system('true') == 0", "unexpected"),
        ("int(L['x'].size()[0]) == 0", "is no function of sizes"),
        ("L['x'].size()[0]", "expected 'more'"),
        ("L['x'].size()[0] * 2", "expected 'more'"),
        ("L['x'].size()[0] // 0 == 1", "is not supported"),
        ("(" * 100 + "1", "nests too deeply"),
        ("1 + " * 2000 + "1 == 3", "characters"),
        ("L['x'].size()[0] == 1 or 2 == 2", "unexpected 'or'"),
    ],
)
def test_other_text_is_no_guard(text: str, message: str) -> None:
    with pytest.raises(UnknownExpression, match=message):
        parse_guard(text, size_of)


def with_guards(path: Path, guards: list[str]) -> Path:
    """A sample whose file has other guards."""
    with zipfile.ZipFile(SAMPLE) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("models/model.json"):
                data = json.dumps(json.loads(data) | {"guards_code": guards}).encode()
            new.writestr(name, data)
    return path


def test_calls_check_the_guards_of_a_file(tmp_path: Path) -> None:
    path = with_guards(tmp_path / "m.pt2", ["(L['x'].size()[0] % 4) == 0", "L['x'].size()[1] == 6"])
    model = stepwell.compile(path, executor="interpreter")
    assert model(np.zeros([8, 6], np.float32))[0].shape == (8, 6)
    with pytest.raises(stepwell.StepwellError) as caught:
        model(np.zeros([6, 6], np.float32))
    assert caught.value.code == "shape-mismatch"
    assert "sizes with (x_0 % 4) == 0; check_guards=False leaves this out" in caught.value.render()
    free = stepwell.compile(path, check_guards=False, executor="interpreter")
    assert free(np.zeros([6, 6], np.float32))[0].shape == (6, 6)
    assert str(stepwell.read(path)).count("graph.assert") == 2 and "% 4" not in str(
        stepwell.read(path, check_guards=False)
    )


def test_a_guard_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    path = with_guards(tmp_path / "m.pt2", ["L['flag'] == True"])
    with pytest.warns(GuardWarning, match="calls do not check the guard"):
        stepwell.read(path)


def test_the_keyword_is_for_programs_of_torch() -> None:
    with pytest.raises(stepwell.StepwellError, match="check_guards is for programs of PyTorch") as caught:
        stepwell.compile("m.onnx", check_guards=False)
    assert caught.value.code == "bad-model"
