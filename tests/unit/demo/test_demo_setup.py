"""What a newcomer relies on: pins that cover everything, targets and a README that are true."""

import re
import subprocess
from pathlib import Path

import pytest

from dspark_sglang.cache import locked
from scripts import readme, setup_venv

ROOT = Path(__file__).resolve().parents[3]
PIN = re.compile(r"([a-z0-9][a-z0-9-]*)==[0-9][^ ]*")


def pins() -> set[str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    matches = [PIN.fullmatch(line) for line in lines if not line.startswith("#")]
    assert all(matches), "every line of constraints.txt must be name==version"
    return {match[1] for match in matches if match}


def test_every_direct_requirement_is_pinned() -> None:
    names = {re.split(r"[^A-Za-z0-9_.-]", each)[0] for each in setup_venv.requirements()}
    normal = {re.sub(r"[-_.]+", "-", name).lower() for name in names}
    assert normal - pins() == set()


def test_other_pins_mean_another_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = setup_venv.base_name()
    other = tmp_path / "constraints.txt"
    other.write_text((ROOT / "constraints.txt").read_text() + "six==1.0\n")
    monkeypatch.setattr(setup_venv, "CONSTRAINTS", other)
    assert re.fullmatch(r"base-[0-9a-f]{16}", before)
    assert setup_venv.base_name() != before


def test_a_second_set_up_waits_for_the_first(tmp_path: Path) -> None:
    said: list[str] = []
    with locked(tmp_path / "lock", lambda: said.append("first")):
        waiting = subprocess.Popen(
            [
                "python3",
                "-c",
                "from pathlib import Path; import sys; from dspark_sglang.cache import locked\n"
                "with locked(Path(sys.argv[1]), lambda: print('waits', flush=True)): print('in')",
                str(tmp_path / "lock"),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert waiting.stdout
        assert waiting.stdout.readline() == "waits\n"
    assert waiting.communicate(timeout=30)[0] == "in\n"
    assert said == []


def test_the_configuration_table_is_the_settings() -> None:
    text = readme.README.read_text()
    assert readme.with_table(text) == text


def test_the_readme_names_only_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    heads = re.findall(r"^([a-z0-9 -]+):", makefile, re.MULTILINE)
    targets = {name for head in heads for name in head.split()}
    shown = re.findall(r"`make ([a-z0-9 -]+)", readme.README.read_text())
    named = {name for words in shown for name in words.split()}
    assert named
    assert named - targets == set()


def test_the_readme_names_only_files_that_exist() -> None:
    named = re.findall(
        r"`((?:dspark_sglang|control|kernels|proto)/[^` ]*)`", readme.README.read_text()
    )
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
