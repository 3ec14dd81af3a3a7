"""The contract notices every kind of mismatch, and the installed SGLang meets it."""

import subprocess
import sys

import pytest

from dspark_sglang import contract
from dspark_sglang.contract_types import Need

HERE = __name__


class Upstream:
    """Stands for a class of SGLang."""

    declared: int

    def __init__(self):
        self.assigned = 1

    def step(self, batch, on_publish=None):
        self.late = batch


@pytest.mark.parametrize(
    "need",
    [
        Need(f"{HERE}.Upstream.step", "override", ("batch", "on_publish")),
        Need(f"{HERE}.Upstream.step", "call", ("batch",)),
        Need(f"{HERE}.Upstream.declared", "field"),
        Need(f"{HERE}.Upstream.assigned", "field"),
        Need(f"{HERE}.Upstream.late", "field"),
        Need(f"{HERE}.Upstream", "field"),
    ],
)
def test_what_is_there_is_no_fault(need):
    assert contract.fault(need) is None


@pytest.mark.parametrize(
    ("need", "words"),
    [
        (Need("sglang.srt.no_such_module.Thing.method", "call"), "cannot be found"),
        (Need(f"{HERE}.NoSuchClass.method", "call"), "cannot be found"),
        (Need(f"{HERE}.Upstream.gone", "override", ()), "no such function"),
        (Need(f"{HERE}.Upstream.gone", "call", ()), "no such function"),
        (Need(f"{HERE}.Upstream.gone", "field"), "no such field"),
        (Need(f"{HERE}.Upstream.step", "override", ("batch",)), "('batch', 'on_publish')"),
        (Need(f"{HERE}.Upstream.step", "override", ("on_publish", "batch")), "expected"),
        (Need(f"{HERE}.Upstream.step", "call", ("batch", "stream")), "no parameters ['stream']"),
    ],
)
def test_each_kind_of_mismatch_is_named(need, words):
    fault = contract.fault(need)
    assert fault is not None
    assert need.path in fault
    assert words in fault


def test_report_names_every_difference_and_the_remedy():
    found = contract.faults(
        [Need(f"{HERE}.Upstream.gone", "field"), Need(f"{HERE}.Upstream.lost", "field")]
    )
    text = contract.report(found)
    assert "Upstream.gone" in text
    assert "Upstream.lost" in text
    assert "Install sglang==0.5.23" in text


def test_a_mismatch_registers_nothing(monkeypatch, caplog):
    import sglang.srt.managers.scheduler  # noqa: F401  where the plugin places its hooks
    from sglang.srt.plugins.hook_registry import HookRegistry

    from dspark_sglang import plugin

    registered = []
    monkeypatch.setattr(contract, "faults", lambda: ["x.y: no such field"])
    monkeypatch.setattr(HookRegistry, "register", lambda *args, **kw: registered.append(args))
    plugin.register()
    assert registered == []
    assert "x.y: no such field" in caplog.text


def test_check_command_passes_on_the_installed_engine():
    run = subprocess.run(
        [sys.executable, "-m", "dspark_sglang.check"],
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "meets all" in run.stdout


def test_check_command_exits_1_with_the_report(monkeypatch, capsys):
    from dspark_sglang import check

    monkeypatch.setattr(contract, "faults", lambda: ["x.y: no such field"])
    assert check.main() == 1
    assert "x.y: no such field" in capsys.readouterr().out
