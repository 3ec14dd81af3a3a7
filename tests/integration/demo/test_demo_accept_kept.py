"""bench-accept keeps what it has measured of a drafter, as long as nothing has changed."""

import argparse
from pathlib import Path

import pytest

from dspark_sglang.demo.accept.__main__ import arguments, named
from dspark_sglang.demo.accept.engine import algorithm_of
from dspark_sglang.demo.accept.kept import Kept, Part
from dspark_sglang.demo.accept.measured import ENGINE, REFERENCE, Key, of_histogram

SETTINGS = {"tokens": 32, "prompts": ["one", "two"], "temperatures": (0.0, 1.0)}
PART = Part(
    {
        Key("vanilla", ENGINE, 0.0, "math"): of_histogram((4, 3, 0, 1), 3),
        Key("vanilla", ENGINE, 1.0, "chat"): of_histogram((2, 2), 3),
    },
    {"math": 1.5},
    {0.0: {"math": [1.25, 1.5, 1.625]}},
)


@pytest.fixture(name="draft")
def _draft(tmp_path: Path) -> Path:
    folder = tmp_path / "draft"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def test_a_part_is_read_as_it_was_written(tmp_path: Path, draft: Path) -> None:
    kept = Kept(tmp_path / "measured", ENGINE, SETTINGS)
    assert kept.read("vanilla", draft) is None
    kept.write("vanilla", draft, PART)
    assert Kept(tmp_path / "measured", ENGINE, SETTINGS).read("vanilla", draft) == PART
    assert kept.read("dflash", draft) is None
    assert Kept(tmp_path / "measured", REFERENCE, SETTINGS).read("vanilla", draft) is None


@pytest.mark.parametrize("change", [{"tokens": 64}, {"prompts": ["one"]}, {"timed": 3}])
def test_other_settings_are_measured_anew(
    tmp_path: Path, draft: Path, change: dict[str, object]
) -> None:
    Kept(tmp_path / "measured", ENGINE, SETTINGS).write("vanilla", draft, PART)
    other = Kept(tmp_path / "measured", ENGINE, SETTINGS | change)
    assert other.read("vanilla", draft) is None


def test_other_weights_are_measured_anew(tmp_path: Path, draft: Path) -> None:
    kept = Kept(tmp_path / "measured", ENGINE, SETTINGS)
    kept.write("vanilla", draft, PART)
    (draft / "model.safetensors").write_bytes(b"others")
    assert kept.read("vanilla", draft) is None


def test_more_drafts_are_named_on_the_command_line(draft: Path) -> None:
    assert named(f"mine={draft}") == ("mine", draft)


def test_the_option_may_come_several_times_and_a_name_once(
    draft: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["accept", "--draft", f"a={draft}", f"b={draft}", "--draft", f"c={draft}"]
    monkeypatch.setattr("sys.argv", words)
    assert [name for name, _ in arguments().draft] == ["a", "b", "c"]
    monkeypatch.setattr("sys.argv", [*words, f"a={draft}"])
    with pytest.raises(SystemExit):
        arguments()
    assert "--draft: each NAME names one draft" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "vanilla", "shipped", "a/b", "../a"])
def test_a_name_hides_no_other_draft_and_is_a_file_name(draft: Path, name: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="NAME must be"):
        named(f"{name}={draft}")


def test_a_folder_without_a_draft_is_refused(tmp_path: Path) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="holds no draft"):
        named(f"mine={tmp_path / 'none'}")


@pytest.mark.parametrize(
    ("architecture", "algorithm"),
    [
        ("Qwen3DSparkModel", "DSPARK"),
        ("DFlashDraftModel", "DFLASH"),
        ("LlamaForCausalLMEagle3", "EAGLE3"),
    ],
)
def test_the_architecture_of_a_draft_says_how_it_is_served(
    draft: Path, architecture: str, algorithm: str
) -> None:
    (draft / "config.json").write_text(f'{{"architectures": ["{architecture}"]}}')
    assert algorithm_of(draft) == algorithm
