"""Server arguments and environment as SGLang's launcher settles them on the CPU platform."""

import json
import os
import subprocess
import sys

import pytest

from dspark_sglang.platforms.cpu.activation import accelerator_present

pytestmark = pytest.mark.skipif(accelerator_present(), reason="the platform stays out")
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 1,
    "num_key_value_heads": 2,
    "vocab_size": 128,
}
PROGRAM = """
import json, os, sys
from sglang.srt.plugins import load_plugins
load_plugins()
from sglang.srt.arg_groups.overrides import resolving_view
from sglang.srt.server_args import prepare_server_args
seen = []
for flags in json.loads(sys.argv[1]):
    arguments = prepare_server_args(flags)
    arguments.resolve_once()
    seen.append(resolving_view(arguments).attention_backend)
print(json.dumps({"backends": seen, "policy": os.environ.get("OMP_WAIT_POLICY")}))
"""


def settled(folder, *flags: list[str], **environ: str) -> dict:
    (folder / "config.json").write_text(json.dumps(CONFIG))
    base = ["--model-path", str(folder), "--device", "cpu", "--skip-tokenizer-init"]
    unset = {name: text for name, text in os.environ.items() if name != "OMP_WAIT_POLICY"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([[*base, *more] for more in flags])],
        env=unset | environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_our_backend_is_the_default_and_another_stays_when_it_is_named(tmp_path):
    torch_native = ["--attention-backend", "torch_native"]
    result = settled(tmp_path, [], torch_native)
    assert result["backends"] == ["triton", "torch_native"]
    assert result["policy"] == "PASSIVE"  # inherited by the processes that compute


def test_a_wait_policy_that_the_user_set_stays(tmp_path):
    assert settled(tmp_path, [], OMP_WAIT_POLICY="ACTIVE")["policy"] == "ACTIVE"
