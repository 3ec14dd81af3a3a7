"""The contract notices every kind of mismatch, and the installed SGLang meets it."""

import logging
import subprocess
import sys

import pytest

from dspark_sglang import contract, contract_check, plugin
from dspark_sglang.contract_types import Need, Part
from dspark_sglang.platforms import cpu

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
    assert contract_check.fault(need) is None


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
    fault = contract_check.fault(need)
    assert fault is not None
    assert need.path in fault
    assert words in fault


GONE = Need(f"{HERE}.Upstream.gone", "field")
LOST = Need(f"{HERE}.Upstream.lost", "field")
WORKER_HOOK = "sglang.srt.speculative.spec_info.SpeculativeAlgorithm.create_worker"
CPU_HOOK = "sglang.srt.arg_groups.speculative_hook._handle_dspark"


def test_report_names_every_difference_the_loss_and_the_remedy():
    part = Part("run-time control", (GONE, LOST), "nothing is controlled", lambda: None)
    text = contract.report(part, contract_check.faults(part.needs))
    for words in ("Upstream.gone", "Upstream.lost", "Install sglang==0.5.23", "run-time control"):
        assert words in text
    assert text.endswith("until then nothing is controlled.")


@pytest.fixture
def registered(monkeypatch):
    """Targets that the plugin hooks on a machine without an accelerator."""
    import sglang.srt.managers.scheduler  # noqa: F401  where the plugin places its hooks
    from sglang.srt.plugins.hook_registry import HookRegistry

    targets = []

    def register(target, hook, hook_type):  # the contract reads the names
        targets.append(target)

    monkeypatch.setattr(cpu, "is_active", lambda: True)
    monkeypatch.setattr(HookRegistry, "register", register)
    return targets


def own(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Our records; SGLang has its own when one of its modules is first imported."""
    return [record for record in caplog.records if record.name.startswith("dspark_")]


def test_both_parts_are_registered_where_the_contract_holds(registered, caplog):
    plugin.register()
    assert {WORKER_HOOK, CPU_HOOK} <= set(registered)
    assert own(caplog) == []


def test_a_mismatch_of_the_control_part_leaves_the_cpu_platform(registered, monkeypatch, caplog):
    needs = (*contract.TRACING_NEEDS, GONE, LOST)
    monkeypatch.setattr(contract, "TRACING_NEEDS", needs)
    plugin.register()
    assert CPU_HOOK in registered
    assert WORKER_HOOK not in registered
    (record,) = own(caplog)
    assert record.levelname == "ERROR"
    for words in ("Upstream.gone", "Upstream.lost", "SGLang's own worker", "Install sglang=="):
        assert words in record.getMessage()


def test_a_mismatch_of_the_cpu_platform_leaves_run_time_control(registered, monkeypatch, caplog):
    monkeypatch.setattr(cpu, "NEEDS", (*cpu.NEEDS, GONE))
    plugin.register()
    assert WORKER_HOOK in registered
    assert CPU_HOOK not in registered
    (record,) = own(caplog)
    assert "the CPU platform is inactive" in record.getMessage()
    assert "without an accelerator" in record.getMessage()


def test_each_part_that_fails_says_so_once(registered, monkeypatch, caplog):
    monkeypatch.setattr(cpu, "NEEDS", (GONE,))
    monkeypatch.setattr(contract, "WORKER_NEEDS", (LOST,))
    plugin.register()
    assert registered == []
    assert [record.levelname for record in own(caplog)] == ["ERROR", "ERROR"]


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


def test_check_command_prints_all_and_exits_1(monkeypatch, capsys):
    from dspark_sglang import check

    monkeypatch.setattr(cpu, "is_active", lambda: True)
    monkeypatch.setattr(cpu, "NEEDS", (GONE,))
    monkeypatch.setattr(contract, "WORKER_NEEDS", (LOST,))
    assert check.main() == 1
    printed = capsys.readouterr().out
    assert "Upstream.gone" in printed
    assert "Upstream.lost" in printed
