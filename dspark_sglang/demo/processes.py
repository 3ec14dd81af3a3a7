"""Child processes that never outlive the run: started in a group of their own, ended as a tree.

SGLang forks and spawns a handful of processes; ending only the first one would leave the others.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import psutil

Say = Callable[[str], None]
TAIL_LINES = 40


class ProcessFailed(RuntimeError):
    """A child process ended, or was not ready in time; the message holds the end of its log."""


class Child:
    """A running child process with its log file."""

    def __init__(
        self, name: str, command: Sequence[str], environ: Mapping[str, str], log: Path
    ) -> None:
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as sink:
            self.process = subprocess.Popen(
                command,
                env={**os.environ, **environ},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_until(self, is_ready: Callable[[], bool], limit_s: float, say: Say) -> None:
        """Returns once `is_ready()`; raises ProcessFailed when the child ends or time is up."""
        started = time.monotonic()
        told = 0
        while not is_ready():
            waited = time.monotonic() - started
            if not self.is_running():
                raise self.failure(f"ended with status {self.process.returncode}")
            if waited > limit_s:
                raise self.failure(f"was not ready after {limit_s:.0f} s")
            if waited // 10 > told:
                told = int(waited // 10)
                say(f"{self.name} starts ... {told * 10} s")
            time.sleep(0.2)

    def is_running(self) -> bool:
        """Whether the first process of the child is alive."""
        return self.process.poll() is None

    def failure(self, what: str) -> ProcessFailed:
        """The error that says what happened to this child and shows the end of its log."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        tail = "\n".join(text.splitlines()[-TAIL_LINES:])
        return ProcessFailed(f"{self.name} {what}; the end of {self.log}:\n{tail}")

    def stop(self, grace_s: float = 3) -> None:
        """Ends the whole tree: SIGTERM, and SIGKILL after the grace time (at once without one)."""
        end_tree(self.process.pid, grace_s)
        self.process.wait()


def end_tree(pid: int, grace_s: float) -> None:
    """Ends a process that leads its own session, its descendants and all others of the session."""
    members = _tree(pid)
    if grace_s > 0:
        _signal(members, signal.SIGTERM)
        _gone, members = psutil.wait_procs(members, timeout=grace_s)
        members += [late for late in _tree(pid) if late not in members]
    _signal(members, signal.SIGKILL)
    psutil.wait_procs(members, timeout=5)


def _tree(pid: int) -> list[psutil.Process]:
    """The process, its descendants, and those whose session it leads."""
    found: dict[int, psutil.Process] = {}
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        found = {each.pid: each for each in (root, *root.children(recursive=True))}
    for each in psutil.process_iter():
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(each.pid) == pid:
                found.setdefault(each.pid, each)
    return [each for each in found.values() if _is_alive(each)]


def _is_alive(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def _signal(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


@contextmanager
def running(
    name: str, command: Sequence[str], environ: Mapping[str, str], log: Path
) -> Iterator[Child]:
    """A child process for the length of the block, ended as a tree in every case."""
    child = Child(name, command, environ, log)
    try:
        yield child
    finally:
        child.stop()


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Turns SIGTERM and SIGHUP into SystemExit, so that the blocks above unwind."""

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signals = (signal.SIGTERM, signal.SIGHUP)
    before = {each: signal.signal(each, leave) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def one_line_faults(command: str) -> Iterator[None]:
    """Ends the program with one line for what a user can mend; signals unwind the block too."""
    try:
        with ended_by_signals():
            yield
    except (OSError, RuntimeError, ValueError) as fault:
        raise SystemExit(f"{command}: {fault}") from None


def free_port() -> int:
    """A TCP port of the loopback interface that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
