"""Targets that are no CPUs: kinds, tags, hosts, scopes, and texts of any kind."""

import csv
import json
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import Target
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import target_from
from stepwell.runtime.targets import registry
from stepwell.runtime.targets.kind import Kind, count
from stepwell.tools.driver.options import CompileOptions
from tests.support.imports import ROOT
from tests.support.samples import examples


def test_a_kind_has_defaults_of_its_architecture() -> None:
    assert Target("cuda")["arch"] == "sm_80" and str(Target("cuda")) == "cuda"
    assert str(Target("cuda{arch=sm_90 warp=32}")) == "cuda{arch=sm_90}"
    assert Target("nvidia/h200")["shared-memory"] == 232448 and Target("nvidia/h200").tag == "nvidia/h200"
    assert Target("nvidia/h200") == Target("cuda{arch=sm_90}")
    assert (Target("rocm")["warp"], Target("rocm{arch=gfx1100}")["warp"]) == (64, 32)
    assert Target("cuda{arch=sm_75}")["ptx"] == 63 and "bf16" not in str(Target("cuda{arch=sm_75}").attrs)
    assert Target("cuda").keys == ("cuda", "gpu", "nvptx") and Target("cuda").experimental
    assert str(Target("nvidia/h200{shared-memory=65536}")) == "cuda{arch=sm_90 shared-memory=64KiB}"


def test_text_dictionary_and_json_are_the_same_target() -> None:
    of_json = Target('{"kind": "cuda", "arch": "sm_90"}')
    assert Target({"kind": "cuda", "arch": "sm_90"}) == of_json == Target("cuda{arch=sm_90}")
    assert Target("cuda").with_attrs({"arch": "sm_75"}) == Target("cuda{arch=sm_75}")


def test_a_device_has_a_host() -> None:
    target = Target("cuda{arch=sm_90} on cpu{mcpu=x86-64-v3}")
    assert target.host == Target("x86-64-v3") and str(Target(str(target))) == str(target)
    assert target.cpu() == Target("x86-64-v3").cpu() and Target("cuda").cpu() == Target("cpu").cpu()
    assert target == Target("cuda{arch=sm_90}", host="x86-64-v3") == Target(json.dumps(target.to_json()))
    assert (
        Target("cuda").with_host("armv7") == Target("cuda on armv7") and target.with_host(None).host is None
    )


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("cuda{arhc=sm_90}", "bad-target", "did you mean arch?"),
        ("cuda{arch=sm_33}", "bad-target", 'arch must be one of sm_75, .* found "sm_33"'),
        ("cuda{shared-memory=lots}", "bad-target", 'a size such as 48KiB, found "lots"'),
        ("cuda{arch=sm_86 shared-memory=200KiB}", "bad-target", "sm_86 is at most 99KiB, found 200KiB"),
        ("cuda{warp=64}", "bad-target", "warp of sm_80 is 32, found 64"),
        ("cuda{ptx=60}", "bad-target", "at least 70, found 60"),
        ("cuda{ptx=79}", "bad-target", "there is no version 79 of PTX; they go from 63 to 90"),
        ("cuda{ptx=9999999}", "bad-target", "no version 9999999"),
        ("cuda{features=wgmma}", "bad-target", "sm_80 has no feature wgmma"),
        ("cuda{max-block=1,2}", "bad-target", "three numbers"),
        ("cuda{max-block=2048,1,1}", "bad-target", "at most 1024,1024,64"),
        ("cuda{arch=sm_80 arch=sm_80}", "bad-target", "twice"),
        ("cuda{arch=sm_80", "bad-target", "KIND{NAME=VALUE"),
        ("cuda on webgpu", "bad-target", "a host must be a cpu target of a device, found webgpu"),
        ("cpu on cpu", "bad-target", "a cpu has no host"),
        ("cuda on cpu on cpu", "bad-target", "at most one host"),
        ("webgpu{shared-memory=64KiB}", "bad-target", "at most 16KiB, found 64KiB"),
        ("webgpu{features=f64}", "bad-target", "no feature f64"),
        ("nvidia/h300", "unknown-target", "did you mean nvidia/h"),
        ("", "unknown-target", "no target is named ''"),
    ],
)
def test_what_is_no_device_is_an_error(text: str, code: str, message: str) -> None:
    with pytest.raises(StepwellError, match=message) as raised:
        Target(text)
    assert raised.value.code == code


def test_a_shader_target_takes_the_limits_of_its_adapter() -> None:
    assert Target("webgpu{limits=adapter shared-memory=64KiB}")["shared-memory"] == 64 << 10


def test_scopes_nest_and_are_the_thread_s_own() -> None:
    seen: list[object] = []
    with Target("webgpu") as outer, Target("armv7") as inner:
        assert Target.current() is inner
        assert CompileOptions().target == str(inner) and CompileOptions(target="aarch64").mcpu == "aarch64"
        thread = threading.Thread(target=lambda: seen.append(Target.current()))
        thread.start()
        thread.join()
        inner.__exit__(None, None, None)
        assert Target.current() is outer
        inner.__enter__()
    assert seen == [None] and Target.current() is None


def test_the_cpu_beside_a_device() -> None:
    assert CompileOptions(target="nvidia/h200 on cpu{mcpu=x86-64-v2}").description() == target_from(
        "x86-64-v2"
    )
    assert CompileOptions(target="webgpu", mcpu="x86-64-v2").description() == target_from("x86-64-v2")
    with pytest.raises(StepwellError, match="the host is cpu") as raised:
        CompileOptions(target="webgpu on cpu{mcpu=x86-64-v2}", mcpu="x86-64-v3").description()
    assert raised.value.code == "bad-option"


def test_each_tag_is_a_target_with_a_source() -> None:
    with (ROOT / "runtime/targets/tags.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 60 and len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        vendor, _, model = row["name"].partition("/")
        assert vendor in ("nvidia", "amd", "apple") and model and row["source"].startswith("https://")
        assert Target(row["name"]).kind == row["kind"] and Target(str(Target(row["name"]))) == Target(
            row["name"]
        )
    assert Target.tags("nvidia/h") == ("nvidia/h100", "nvidia/h200")


def test_packages_add_kinds_and_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    added = registry.TargetRegistry()
    added.add_kind(Kind("toy", ("toy",), {"lanes": count}, "a toy", lambda given: {"lanes": 4}))
    added.add_tag(registry.Tag("acme/toy8", "toy", {"lanes": 8}, "https://acme.example"))
    monkeypatch.setattr(registry, "_plugged_in", lambda: added)
    assert "toy" in Target.kinds() and Target("toy")["lanes"] == 4
    assert str(Target("acme/toy8")) == "toy{lanes=8}" and str(Target("toy{lanes=4}")) == "toy"
    with pytest.raises(StepwellError, match="named toy already"):
        added.add_kind(added.kinds["toy"])
    with pytest.raises(StepwellError, match="named acme/toy8 already"):
        added.add_tag(added.tags["acme/toy8"])


_WORDS = st.sampled_from(
    [*Target.kinds(), "host", "armv7", "nvidia/h200", "x86_64-linux", " on ", "{", "}", "=", ",", " ", '"',
     "[", "]", "arch", "sm_90", "warp", "shared-memory", "max-block", "1,2,3", "48KiB", "features", "f16",
     "mcpu", "cores",
     "triple", "limits", "tile-shares", "f32:6x2:0.98", "9" * 40, "\x00", "é", ":", "null", "kind", "-", "/"]
)  # fmt: skip


_TEXTS = st.one_of(st.text(max_size=40), st.lists(_WORDS, max_size=12).map("".join))


@examples(1500)
@given(_TEXTS)
@pytest.mark.filterwarnings("ignore::stepwell.runtime.machine.target.TargetWarning")
def test_any_text_is_a_target_or_one_of_two_errors(text: str) -> None:
    expect_target_or_error(text)


@pytest.mark.fuzz
@settings(max_examples=10_000, deadline=None)
@given(_TEXTS)
@pytest.mark.filterwarnings("ignore::stepwell.runtime.machine.target.TargetWarning")
def test_ten_thousand_texts(text: str) -> None:
    expect_target_or_error(text)


def expect_target_or_error(text: str) -> None:
    """Require a text to be a target that is the same as text again, or one of two errors."""
    try:
        target = Target(text)
    except StepwellError as error:
        assert error.code in ("bad-target", "unknown-target"), text
    else:
        assert Target(str(target)) == target == Target(json.dumps(target.to_json()))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=6,
)


@examples(600)
@given(
    st.dictionaries(
        st.sampled_from(["kind", "arch", "host", "max-block", "features", "cores", "warp"]), _JSON
    )
)
@pytest.mark.filterwarnings("ignore::stepwell.runtime.machine.target.TargetWarning")
def test_any_dictionary_is_a_target_or_one_of_two_errors(values: dict[str, object]) -> None:
    try:
        target = Target(values)
    except StepwellError as error:
        assert error.code in ("bad-target", "unknown-target"), values
    else:
        assert Target(str(target)) == target


def test_the_command_lists_kinds_and_devices(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from stepwell.tools.cli import main

    assert main(["targets", "nvidia/h"]) == 0
    assert capsys.readouterr().out.split() == [
        "nvidia/h100",
        "cuda{arch=sm_90}",
        "nvidia/h200",
        "cuda{arch=sm_90}",
    ]
    assert main(["targets", "--json", str(tmp_path / "t.json")]) == 0
    facts = json.loads((tmp_path / "t.json").read_text())
    assert [kind["name"] for kind in facts["kinds"] if kind["experimental"]] == list(Target.kinds()[1:])
    assert len(facts["devices"]) == len(Target.tags())
