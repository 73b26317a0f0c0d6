"""`stepwell.Target`: text, attributes and triples, resolved and back."""

import json
from dataclasses import replace

import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import host_target, target_from


@pytest.mark.parametrize(
    "text", ["cpu", "host", "riscv64gcv", "cpu{mcpu=armv7 cores=4 l2=512KiB}", "aarch64-unknown-linux-gnu"]
)
def test_text_and_json_give_the_target_back(text: str) -> None:
    target = stepwell.Target(text)
    assert stepwell.Target(str(target)) == target and hash(stepwell.Target(str(target))) == hash(target)
    assert stepwell.Target(target.to_json()) == target == stepwell.Target(json.dumps(target.to_json()))
    assert stepwell.Target(target) == target and target.kind == "cpu"


def test_attributes_have_defaults_and_sizes_have_units() -> None:
    target = stepwell.Target("cpu{mcpu=riscv64gcv l1=48KiB cores=3}")
    assert (target["mcpu"], target["l1"], target["cores"]) == ("riscv64gcv", 48 << 10, 3)
    assert target["triple"] == "riscv64-unknown-linux-gnu"
    assert target.cpu().vector_bytes == 16 and target.cpu().cores == 3
    assert target.with_attrs({"cores": 1})["cores"] == 1
    assert stepwell.Target("cpu").cpu() == host_target()
    assert stepwell.Target("armv7").cpu() == target_from("armv7")
    assert str(stepwell.Target("cpu{cores=3 mcpu=armv7}")) == "cpu{cores=3 mcpu=armv7}"


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("cpuu", "unknown-target", "cpu"),
        ("cudaa", "unknown-target", "cuda"),
        ("riscv64gvc", "unknown-target", "riscv64gcv"),
        ("cpu{mcpuu=host}", "bad-target", "mcpu"),
        ("cpu{cores=lots}", "bad-target", "size such as"),
        ("cpu{cores=0}", "bad-target", "cores"),
        ("cpu{cores=1 cores=2}", "bad-target", "twice"),
        ("cpu{cores}", "bad-target", "NAME=VALUE"),
        ("{", "bad-target", "JSON"),
        ('{"cores": [1]}', "bad-target", "cores"),
        ('{"kind": "gpu"}', "unknown-target", "gpu"),
        ("x" * 70000, "bad-target", "characters"),
        ("cpu{mcpu=armv7 triple=x86_64-linux-gnu}", "bad-target", "armv7"),
    ],
)
def test_what_is_no_target_is_an_error(text: str, code: str, message: str) -> None:
    with pytest.raises(StepwellError) as raised:
        stepwell.Target(text)
    assert raised.value.code == code and message in str(raised.value)


def test_an_attribute_that_there_is_not() -> None:
    with pytest.raises(StepwellError, match="no attribute"):
        stepwell.Target("cpu")["arch"]


def test_a_description_is_a_target_and_back() -> None:
    described = replace(target_from("armv7"), cores=3, tile_shares=(("f32", ((6, 2, 0.98), (4, 3, 1e-05))),))
    target = stepwell.Target.of(described)
    assert (
        target.cpu()
        == described
        == stepwell.Target(str(target)).cpu()
        == stepwell.Target(target.to_json()).cpu()
    )
