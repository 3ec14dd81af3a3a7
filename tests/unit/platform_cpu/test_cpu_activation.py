"""When the CPU platform claims a machine, and what it costs where it does not."""

import subprocess
import sys
import types

import pytest

from dspark_sglang.platforms.cpu import activation

DEVICES = ("cuda", "xpu", "mps", "npu", "musa", "hpu")


def fake_torch(present: str = "", accelerator: bool = False) -> types.ModuleType:
    """A torch with the usual devices, of which only `present` is available."""
    torch = types.ModuleType("torch")
    torch.accelerator = types.SimpleNamespace(is_available=lambda: accelerator)
    for name in ("cuda", "xpu", "mps", present or "cuda"):
        available = name == present
        setattr(torch, name, types.SimpleNamespace(is_available=lambda found=available: found))
    return torch


@pytest.fixture
def machine(monkeypatch):
    monkeypatch.delenv("SGLANG_USE_CPU_ENGINE", raising=False)
    return lambda torch: monkeypatch.setitem(sys.modules, "torch", torch)


def test_a_machine_without_accelerator_is_claimed(machine) -> None:
    machine(fake_torch())
    assert activation.activate() == activation.PLATFORM_PATH


@pytest.mark.parametrize("device", DEVICES)
def test_any_accelerator_keeps_it_out(machine, device: str) -> None:
    machine(fake_torch(present=device))
    assert activation.activate() is None


def test_an_accelerator_of_unknown_name_keeps_it_out(machine) -> None:
    machine(fake_torch(accelerator=True))
    assert activation.activate() is None


def test_sglangs_own_cpu_engine_keeps_it_out_without_a_look_at_torch(machine, monkeypatch) -> None:
    machine(None)
    monkeypatch.setenv("SGLANG_USE_CPU_ENGINE", "1")
    assert activation.activate() is None


def test_the_import_is_light() -> None:
    program = (
        "import sys; import dspark_sglang.platforms.cpu;"
        "print([name for name in ('torch', 'sglang', 'triton', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr
