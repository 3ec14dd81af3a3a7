"""Builds the clone's `.venv`, the one environment that every make target uses.

The third-party packages (about 10 GB with PyTorch) live in a *base* environment outside the clone,
named by the hash of `constraints.txt`, the direct requirements and the Python version, so that
clones share it and a changed pin gets a new one. `.venv` is a thin overlay: its own interpreter
link, a `.pth` file that adds the base's packages, and the project installed in editable form, so
that console scripts and SGLang's entry points are found in every process.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
import tomllib
from contextlib import AbstractContextManager
from pathlib import Path

from dspark_sglang.cache import INSTALLER_ENVIRON, cache_root, locked

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
NOT_COMPILED = r"/(cudnn|modelscope|nvshmem|tilelang)/"
"""Large packages that SGLang does not import on a machine without a GPU."""
TOOLS = ("ruff", "buf", "ninja")


def say(text: str) -> None:
    """Prints one line of progress."""
    print(f"venv: {text}", flush=True)


def requirements() -> list[str]:
    """The project's direct requirements, all extras included, and those of its build."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = data["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    return sorted(
        {*data["build-system"]["requires"], *(each for group in groups for each in group)}
    )


def base_name() -> str:
    """`base-` and 16 hex digits that stand for the pins, the requirements and the interpreter."""
    parts = [
        CONSTRAINTS.read_text(),
        *requirements(),
        platform.python_version(),
        platform.machine(),
    ]
    return "base-" + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def exclusive(path: Path) -> AbstractContextManager[None]:
    """Keeps two set-ups from building the same thing at once."""
    return locked(path, lambda: say("another set-up is at work; waiting for it"))


def run(*command: str | Path) -> None:
    """Runs a command, its output shown; ends the set-up with one line when it fails."""
    try:
        subprocess.run([str(part) for part in command], check=True, stdin=subprocess.DEVNULL)
    except (subprocess.CalledProcessError, OSError) as failure:
        raise SystemExit(
            f"venv: {failure}\nvenv: set-up stopped; mend the cause above and run it again"
        ) from None


def installer(cache: Path) -> list[str]:
    """The install command: uv from a small environment of its own, else plain pip."""
    boot = cache / f"boot-{platform.python_version()}"
    python = boot / "bin" / "python"
    if not python.exists():
        say(f"making {boot} for the installer")
        run(sys.executable, "-m", "venv", boot)
    if not (boot / "bin" / "uv").exists():
        got = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "uv"], check=False, stdin=subprocess.DEVNULL
        )
        if got.returncode != 0:
            say("uv cannot be had here; plain pip does it, more slowly")
            return [str(python), "-m", "pip"]
    return [str(boot / "bin" / "uv"), "pip"]


def install_into(target: Path, cache: Path, *arguments: str | Path) -> None:
    """Installs into the environment whose interpreter is `target`, with uv or with pip."""
    tool = installer(cache)
    if tool[-2] == "-m":
        run(*tool, "--python", target, "install", *arguments)
    else:
        run(*tool, "install", "--python", target, *arguments)


def ensure_base(cache: Path) -> Path:
    """The finished base environment, built first where it is not there.

    It is built in place, because the scripts of an environment hold its path; the `.complete`
    marker, written last, tells a finished one from the remains of a broken build.
    """
    base = cache / base_name()
    marker = base / ".complete"
    if marker.exists():
        return base
    with exclusive(cache / f"{base.name}.lock"):
        if not marker.exists():
            build_base(base, cache)
            marker.touch()
    return base


def build_base(base: Path, cache: Path) -> None:
    """Makes the base environment from `constraints.txt`."""
    say(f"installing the pinned packages into {base} (about 10 GB; minutes, once per set of pins)")
    started = time.monotonic()
    shutil.rmtree(base, ignore_errors=True)
    run(sys.executable, "-m", "venv", "--without-pip", base)
    install_into(base / "bin" / "python", cache, "-c", CONSTRAINTS, *requirements())
    say(f"packages installed after {time.monotonic() - started:.0f} s; compiling them to bytecode")
    compile_all(base)
    say(f"base environment finished after {time.monotonic() - started:.0f} s")


def compile_all(base: Path) -> None:
    """Compiles the packages once; machines that write no bytecode would do it in every process."""
    python = str(base / "bin" / "python")
    command = [python, "-W", "ignore", "-m", "compileall", "-qq", "-j", "0", "-x", NOT_COMPILED]
    environ = {name: text for name, text in os.environ.items() if name != NO_BYTECODE}
    # Some packages ship files for other Python versions, so its status says nothing.
    subprocess.run(
        [*command, str(base / "lib")], check=False, env=environ, stdin=subprocess.DEVNULL
    )


def overlay_stamp(base: Path) -> str:
    """What `.venv` was made from; a different text means that it must be made again."""
    return f"{ROOT}\n{base}\n{hashlib.sha256((ROOT / 'pyproject.toml').read_bytes()).hexdigest()}\n"


def ensure_overlay(venv: Path, base: Path, cache: Path) -> None:
    """Makes `.venv` on top of the base, or renews it in place, unless it is up to date."""
    stamp = venv / ".stamp"
    if stamp.exists() and stamp.read_text() == overlay_stamp(base):
        say(f"{venv.name} is up to date ({base.name})")
        return
    say(f"making {venv.name} on top of {base.name}")
    packages = venv / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    if not packages.exists():
        shutil.rmtree(venv, ignore_errors=True)
    python = venv / "bin" / "python"
    run(base / "bin" / "python", "-m", "venv", "--without-pip", venv)
    base_packages = base / packages.relative_to(venv)
    (packages / "_dspark_base.pth").write_text(
        f"import site; site.addsitedir({str(base_packages)!r})\n"
    )
    install_into(python, cache, "--quiet", "--no-deps", "--no-build-isolation", "-e", ROOT)
    link_tools(venv / "bin", [base / "bin" / tool for tool in TOOLS])
    if (uv := Path(installer(cache)[0])).name == "uv":
        link_tools(venv / "bin", [uv])
    stamp.write_text(overlay_stamp(base))


def link_tools(folder: Path, tools: list[Path]) -> None:
    """Links programs that are not Python scripts into the overlay."""
    for tool in tools:
        (folder / tool.name).unlink(missing_ok=True)
        (folder / tool.name).symlink_to(tool)


def main() -> None:
    """Makes or updates the base and the overlay; says what it does."""
    if platform.system() != "Linux":
        raise SystemExit(
            "venv: SGLang's packages exist for Linux only; use a Linux machine or a container"
        )
    os.environ.update(INSTALLER_ENVIRON)
    cache = cache_root()
    base = ensure_base(cache)
    with exclusive(ROOT / "build" / "venv.lock"):
        ensure_overlay(ROOT / ".venv", base, cache)


if __name__ == "__main__":
    main()
