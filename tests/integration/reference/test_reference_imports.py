"""The reference stands alone: reading it must need neither the engine nor transformers."""

import subprocess
import sys

PROGRAM = """
import sys
import dspark_sglang.reference
print(sorted({name.split(".")[0] for name in sys.modules} & {"sglang", "transformers"}))
"""


def test_core_imports_neither_sglang_nor_transformers() -> None:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
