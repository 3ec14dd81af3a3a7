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


REFUSALS = """
import json, sys
from sglang.srt.plugins import load_plugins
load_plugins()
from sglang.srt.server_args import prepare_server_args
seen = []
for flags in json.loads(sys.argv[1]):
    try:
        prepare_server_args(flags).resolve_once()
        seen.append("")
    except (ValueError, AssertionError) as error:
        seen.append(str(error))
print(json.dumps(seen))
"""
CHAIN = ["--speculative-eagle-topk", "1", "--speculative-num-steps", "7"]


def refusals(folder, *flags: list[str]) -> list[str]:
    """What each line of EAGLE flags is refused with; empty where it is not."""
    (folder / "config.json").write_text(json.dumps(CONFIG))
    base = ["--model-path", str(folder), "--device", "cpu", "--skip-tokenizer-init"]
    base += ["--speculative-draft-model-path", str(folder), "--speculative-algorithm"]
    lines = json.dumps([[*base, *more] for more in flags])
    command = [sys.executable, "-c", REFUSALS, lines]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_eagle3_is_served_in_chains_of_one_length_alone(tmp_path):
    eagle3 = ["EAGLE3", *CHAIN]
    wrong = {
        "--speculative-eagle-topk None, --speculative-num-steps None:": ["EAGLE3"],
        "--speculative-eagle-topk 4:": [*eagle3, "--speculative-eagle-topk", "4"],
        "--speculative-num-steps None:": eagle3[:3],
        "--speculative-adaptive True:": [*eagle3, "--speculative-adaptive"],
        "--enable-multi-layer-eagle True:": [*eagle3, "--enable-multi-layer-eagle"],
        "--enable-deterministic-inference True:": [*eagle3, "--enable-deterministic-inference"],
    }
    served, other, *refused = refusals(tmp_path, eagle3, ["EAGLE"], *wrong.values())
    assert served == ""
    assert (
        other
        == "EAGLE speculative decoding is not supported by DSparkCpuPlatform on device "
        + ("'cpu'.")
    )
    for expected, found in zip(wrong, refused, strict=True):
        assert found.startswith(f"EAGLE3 with {expected} the CPU platform verifies chains")
        assert "--speculative-eagle-topk 1 --speculative-num-steps 7" in found
