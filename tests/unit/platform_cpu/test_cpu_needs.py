"""The declared needs are complete as far as the source can tell."""

import ast
from pathlib import Path

from dspark_sglang.platforms import cpu

FOLDER = Path(cpu.__file__).parent
PATHS = {need.path for need in cpu.NEEDS}


def trees() -> list[ast.Module]:
    return [ast.parse(file.read_text()) for file in sorted(FOLDER.rglob("*.py"))]


def test_every_import_of_sglang_is_declared() -> None:
    """By the name itself or by something below it."""
    imported = {
        f"{node.module}.{alias.name}"
        for tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sglang")
        for alias in node.names
    }
    types_only = {"sglang.srt.platforms.interface.KVPoolKind"}
    assert len(imported) > 10
    missing = [
        name
        for name in imported - types_only
        if not any(path == name or path.startswith(f"{name}.") for path in PATHS)
    ]
    assert missing == []


def test_every_hook_is_declared_and_says_why() -> None:
    targets = [
        node
        for tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "CpuHook"
    ]
    assert len(targets) >= 8
    for call in targets:
        target, kind, _, reason = call.args
        assert target.value in PATHS or target.value.startswith("torch.")
        assert kind.value in ("before", "around", "replace")
        assert len(reason.value.split()) > 4


def test_needs_are_unique_and_of_a_known_kind() -> None:
    assert len(PATHS) == len(cpu.NEEDS)
    assert {need.kind for need in cpu.NEEDS} == {"override", "call", "field"}
    assert all(need.path.startswith("sglang.") for need in cpu.NEEDS)
