"""Who may import whom: what keeps the control plane free of torch, and SGLang in one place."""

import ast
import importlib.metadata
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = {"torch", "sglang", "triton", "transformers"}
FORBIDDEN = {
    "proto/dspark": ENGINE | {"dspark_control", "dspark_kernels", "dspark_sglang"},
    "control/dspark_control": ENGINE | {"dspark_kernels", "dspark_sglang"},
    "kernels/dspark_kernels": {"sglang", "dspark", "dspark_control", "dspark_sglang"},
    "dspark_sglang/agent": ENGINE,
    "dspark_sglang/settings": ENGINE,
    "dspark_sglang/reference": {"sglang", "dspark", "dspark_control"},
}
LIGHT_AT_IMPORT = ("dspark_sglang/__init__.py", "dspark_sglang/plugin.py")
"""Loaded by SGLang in each of its processes: nothing but the standard library at the top."""


def imports(file: Path, *, only_top: bool = False) -> Iterator[str]:
    """Names of the top-level packages that a file imports."""
    tree = ast.parse(file.read_text())
    for node in tree.body if only_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).split(".")[0]


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_no_import_against_the_direction(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    wrong = {
        str(file.relative_to(ROOT)): bad
        for file in files
        if (bad := FORBIDDEN[folder].intersection(imports(file)))
    }
    assert not wrong


@pytest.mark.parametrize("name", LIGHT_AT_IMPORT)
def test_what_every_process_loads_is_light(name: str) -> None:
    assert set(imports(ROOT / name, only_top=True)) <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("root", ["control", "kernels", "proto"])
def test_source_roots_are_no_packages(root: str) -> None:
    """A server started from the checkout must find the PyPI package `kernels`, not ours."""
    assert not (ROOT / root / "__init__.py").exists()


@pytest.mark.parametrize("module", ["dspark_control.service.main", "dspark_control.ctl.main"])
def test_the_control_plane_runs_without_the_engine(module: str) -> None:
    code = f"import sys, {module}\nprint(*sorted({ENGINE!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == ""


def test_entry_points_are_those_that_sglang_looks_for() -> None:
    groups = {"sglang.srt.plugins": "dspark", "sglang.srt.platforms": "dspark_cpu"}
    for group, name in groups.items():
        assert name in importlib.metadata.entry_points(group=group).names
