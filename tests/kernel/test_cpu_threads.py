"""Binding the threads of a rank (here since it sets torch's threads)."""

import os
import subprocess
import sys

import pytest

from dspark_sglang.platforms.cpu import threads

PROGRAM = """
import os, sys, torch
from dspark_sglang.platforms.cpu.threads import bind_threads
bind_threads(local_omp_cpuid=sys.argv[1])
print(sorted(os.sched_getaffinity(0)), torch.get_num_threads())
"""


def bound(entry: str, variable: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, threads.VARIABLE: variable, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, entry]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def test_a_rank_runs_on_its_own_cpus() -> None:
    cpu = max(os.sched_getaffinity(0))
    assert bound(str(cpu), f"{cpu}|{cpu}").stdout.strip() == f"[{cpu}] 1"


def test_nothing_is_bound_unless_asked_for() -> None:
    everything = sorted(os.sched_getaffinity(0))
    assert bound("0", "all").stdout.strip() == f"{everything} 1"


def test_cpus_that_are_not_there_are_named() -> None:
    done = bound("4000", "4000")
    assert done.returncode != 0
    assert "cannot run on CPUs '4000'" in done.stderr


def test_cpu_lists() -> None:
    assert threads.parse_cpus("0-2, 8") == {0, 1, 2, 8}
    assert threads.parse_cpus("5") == {5}
    with pytest.raises(ValueError, match="'x' is no CPU"):
        threads.parse_cpus("0,x")
