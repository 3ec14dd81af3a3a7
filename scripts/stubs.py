"""Writes the gRPC stubs from `proto/`, or checks that the committed ones are up to date.

The stubs are committed so that an install needs no compiler; the check keeps them from drifting.
"""

import argparse
import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"


def generate(target: Path) -> None:
    """Compiles every `.proto` file under `proto/` into `target`."""
    names = sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto"))
    outputs = [f"--{kind}_out={target}" for kind in ("python", "pyi", "grpc_python")]
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", *outputs, *names]
    subprocess.run(command, check=True)


def stubs_under(folder: Path) -> dict[Path, str]:
    """Relative path -> text of every generated file under a folder."""
    found = [*folder.rglob("*_pb2*.py"), *folder.rglob("*_pb2.pyi")]
    return {path.relative_to(folder): path.read_text() for path in found}


def check() -> str | None:
    """The difference between the committed stubs and fresh ones, or None."""
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        fresh, committed = stubs_under(Path(folder)), stubs_under(PROTO)
    lines: list[str] = []
    for name in sorted(fresh.keys() | committed.keys()):
        old, new = committed.get(name, ""), fresh.get(name, "")
        sides = (f"committed/{name}", f"generated/{name}")
        lines += difflib.unified_diff(old.splitlines(), new.splitlines(), *sides, lineterm="", n=0)
    return "\n".join(lines) or None


def main() -> None:
    """`write` or `check`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["write", "check"])
    if parser.parse_args().action == "write":
        generate(PROTO)
    elif difference := check():
        raise SystemExit(f"{difference}\nstubs: not what proto/ gives; run `make proto`")


if __name__ == "__main__":
    main()
