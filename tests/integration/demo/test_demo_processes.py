"""Child processes end as a tree, whatever they do."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from dspark_sglang.demo.processes import ProcessFailed, free_port, one_line_faults, running

# A process that ignores SIGTERM, with a child in a process group of its own.
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], process_group=0)
print(child.pid, flush=True)
time.sleep(600)
"""


def command(source: str) -> list[str]:
    return [sys.executable, "-c", source]


def wait_for_text(file: Path) -> str:
    for _ in range(600):
        if file.exists() and (text := file.read_text()):
            return text
        time.sleep(0.05)
    raise AssertionError(f"{file} stays empty")


def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_stubborn_tree_is_ended(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with running("stubborn", command(STUBBORN), {}, log) as child:
        grandchild = int(wait_for_text(log))
        child.stop(grace_s=0.5)
    assert is_gone(grandchild)
    assert not child.is_running()


def test_the_tree_ends_when_the_block_fails(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="mine"),
        running("sleeper", command("import time; time.sleep(600)"), {}, tmp_path / "log") as child,
    ):
        raise RuntimeError("mine")
    assert is_gone(child.process.pid)


def test_a_child_that_ends_is_reported_with_its_log(tmp_path: Path) -> None:
    source = "import os; print('no such port', os.environ['WHERE']); raise SystemExit(3)"
    complaint = r"(?s)broken ended with status 3.*no such port here"
    with (
        running("broken", command(source), {"WHERE": "here"}, tmp_path / "log") as child,
        pytest.raises(ProcessFailed, match=complaint),
    ):
        child.wait_until(lambda: False, 30, print)


def test_a_child_that_is_never_ready_is_reported(tmp_path: Path) -> None:
    source = "import time; print('loading', flush=True); time.sleep(600)"
    with running("slow", command(source), {}, tmp_path / "log") as child:
        wait_for_text(tmp_path / "log")
        with pytest.raises(ProcessFailed, match=r"(?s)slow was not ready after 0 s.*loading"):
            child.wait_until(lambda: False, 0.3, print)


# As in a terminal: whoever starts the tests in the background of a script makes them ignore SIGINT.
OUTER = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
from dspark_sglang.demo.processes import ended_by_signals, running
with ended_by_signals(), running("inner", [sys.executable, "-c", "import time; time.sleep(600)"],
                                 {}, Path(sys.argv[1]) / "log") as child:
    print(child.process.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_to_the_run_end_its_children(tmp_path: Path, number: signal.Signals) -> None:
    outer = subprocess.Popen(
        [*command(OUTER), str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert outer.stdout
    inner = int(outer.stdout.readline())
    os.kill(outer.pid, number)
    outer.wait(30)
    assert is_gone(inner)


def test_free_ports_are_bindable() -> None:
    assert 1024 < free_port() < 65536


@pytest.mark.parametrize("fault", [ProcessFailed("no server"), ValueError("bad"), OSError("gone")])
def test_a_fault_of_a_command_is_one_line(fault: Exception) -> None:
    with pytest.raises(SystemExit, match=f"^bench: {fault}$"), one_line_faults("bench"):
        raise fault
    with pytest.raises(TypeError), one_line_faults("bench"):
        raise TypeError("a fault of ours keeps its traceback")
