"""One run of SGLang's Triton kernels in the interpreter for the whole folder."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.kernel import cases

PROGRAM = Path(__file__).with_name("interpreted_kernels.py")
Tensors = dict[str, torch.Tensor]


@pytest.fixture(scope="session")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[tuple]]:
    """(arguments, outputs of the Triton kernel) of every case of the named kernel."""
    folder = tmp_path_factory.mktemp("kernels")
    wanted = cases.all_cases()
    torch.save(wanted, folder / "cases.pt")
    command = [sys.executable, str(PROGRAM), str(folder / "cases.pt"), str(folder / "results.pt")]
    environ = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    results = torch.load(folder / "results.pt")
    pairs = [(name, case, out) for (name, case), out in zip(wanted, results, strict=True)]
    return lambda kernel: [(case, out) for name, case, out in pairs if name == kernel]
