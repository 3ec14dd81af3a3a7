"""Files: strict, one error line each, and never more than a megabyte read."""

import json
import math
import os
from pathlib import Path

import pytest

from dspark_control.core import (
    DeploymentIdentity,
    SchedulingPolicy,
    SpsAdditiveTable,
    SpsStepTable,
    StsTable,
)
from dspark_control.files import (
    MAX_BYTES,
    FileFault,
    dump_policy,
    dump_sps,
    dump_sts,
    load_identity,
    load_policy,
    load_sps,
    load_sts,
    read_limited,
)


def test_a_policy_names_only_what_it_changes() -> None:
    policy = load_policy(b"mode: scheduled\nsurvival_floor: 1e-6\nmin_predicted_gain: 0\n")
    assert policy == SchedulingPolicy(survival_floor=1e-6)
    assert isinstance(policy.min_predicted_gain, float)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mod: scheduled", "'mod' is not a field; did you mean 'mode'?"),
        ("survival: 1", "did you mean 'survival_floor'?"),
        ("mode: sheduled", "did you mean 'scheduled'?"),
        ("mode: off", "mode is 'off'"),
        ("mode: 3", "mode is 3"),
        ("mode: [scheduled]", "mode is ['scheduled']"),
        ("mode: scheduled\nmode: verify_all", "'mode' is given twice"),
        ("min_verify_length: 1.5", "min_verify_length is 1.5"),
        ("min_verify_length: true", "min_verify_length is True"),
        ("min_verify_length: '2'", "min_verify_length is '2'"),
        ("min_verify_length: 0x10", "min_verify_length is '0x10'"),
        ("min_verify_length: -1", "min_verify_length is -1"),
        ("min_verify_length: ", "min_verify_length is None"),
        ("survival_floor: .nan", "survival_floor is nan"),
        ("survival_floor: .inf", "survival_floor is inf"),
        ("survival_floor: yes", "survival_floor is 'yes'"),
        ("fixed_fraction: {a: 1}", "fixed_fraction is {'a': 1}"),
        ("- a", "fields and their values"),
        ("{}", "fields and their values"),
        ("# nothing", "fields and their values"),
        ("mode: [", "not a valid YAML document"),
        ("a: b\n---\nc: d", "not a valid YAML document"),
        ("a: !!python/object/apply:os.system [x]", "not a valid YAML document"),
        ("a: \x07", "not a valid YAML document"),
        ("? [a]\n: b", "not a valid YAML document"),
        ("{" * 5000, "not a valid YAML document"),
        ("min_verify_length: " + "9" * 5000, "not a valid YAML document"),
        ("<<: {mode: verify_all}", "'<<' is not a field"),
        ("", "is empty"),
        (" \n ", "is empty"),
    ],
)
def test_bad_policies(text: str, expected: str) -> None:
    _assert_refused(load_policy, text.encode(), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"temperatures": [1.0, NaN]}', "temperatures[1] is nan"),
        ('{"temperatures": [1.0, -Infinity]}', "temperatures[1] is -inf"),
        ('{"temperatures": [1e999]}', "temperatures[0] is inf"),
        ('{"temperatures": [-0.5]}', "temperatures[0] is -0.5"),
        ('{"temperatures": [true]}', "temperatures[0] is True"),
        ('{"temperatures": ["1"]}', "temperatures[0] is '1'"),
        ('{"temperatures": []}', "temperatures has 0 values"),
        ('{"temperatures": 1}', "temperatures is 1"),
        ('{"temperatures": null}', "temperatures is None"),
        ('{"temperatures": [1], "temperatures": [2]}', "'temperatures' is given twice"),
        ('{"temperature": [1]}', "did you mean 'temperatures'?"),
        ('{"dataset": "x"}', "temperatures is missing"),
        ('{"temperatures": [1], "num_samples": 1.5}', "num_samples is 1.5"),
        ('{"temperatures": [1], "dataset": NaN}', "dataset is nan"),
        ("[1]", "fields and their values"),
        ('"text"', "fields and their values"),
        ("{", "is not JSON"),
        ('{"temperatures": [1]} x', "is not JSON"),
        ("[" * 100_000, "recursion"),
        ('{"temperatures": [' + "9" * 5000 + "]}", "4300 digits"),
        ('{"temperatures": [' + "9" * 400 + "]}", "temperatures[0] is 9999"),
        ("", "is empty"),
    ],
)
def test_bad_sts_tables(text: str, expected: str) -> None:
    _assert_refused(load_sts, text.encode(), expected)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"sample_batch_tokens": [4, 2]}, "strictly increasing; sort them"),
        ({"sample_batch_tokens": [2, 2]}, "strictly increasing"),
        ({"sample_batch_tokens": [1.0, 2]}, "sample_batch_tokens[0] is 1.0"),
        ({"sample_steps_per_sec": [1.0]}, "has 1 values, but must have 2"),
        ({"sample_steps_per_sec": [-1.0, 1.0]}, "sample_steps_per_sec[0] is -1.0"),
        ({"sample_steps_per_sec": [math.nan, 1.0]}, "sample_steps_per_sec[0] is nan"),
        ({"max_batch_tokens": 1}, "max_batch_tokens is 1"),
        ({"max_tokens": 1}, "did you mean 'max_batch_tokens'?"),
        ({"bias_seconds": 1.0}, "is not a field"),  # neither form has these together
    ],
)
def test_bad_sps_tables(change: dict[str, object], expected: str) -> None:
    good = {
        "sample_batch_tokens": [1, 2],
        "sample_steps_per_sec": [10.0, 9.0],
        "max_batch_tokens": 8,
    }
    assert load_sps(json.dumps(good).encode()) == SpsStepTable((1, 2), (10.0, 9.0), 8)
    _assert_refused(load_sps, json.dumps({**good, **change}).encode(), expected)


def test_both_sps_forms_load_back() -> None:
    for table in (
        SpsStepTable((1, 2), (10.0, 9.0), 8),
        SpsAdditiveTable(0.01, (0, 8), (0.0, 1e-7), (1, 2), (0.0, 0.5)),
    ):
        assert load_sps(dump_sps(table)) == table


def test_an_sts_file_leaves_out_defaults_as_sglang_does() -> None:
    assert dump_sts(StsTable((1.0, 1.5))) == b'{"temperatures":[1.0,1.5]}'
    full = StsTable((1.0,), "math é", 5, (0.5,), (0.25,))
    assert load_sts(dump_sts(full)) == full


IDENTITY = b"""gpu: NVIDIA H200
gamma: 7
graph_tiers: [1, 2]
dtype: 'no'
"""


def test_policies_and_identities_load_back() -> None:
    policy = SchedulingPolicy(min_predicted_gain=1e-7, survival_floor=0.125)
    assert load_policy(dump_policy(policy)) == policy
    identity = DeploymentIdentity(gpu="NVIDIA H200", gamma=7, graph_tiers=(1, 2), dtype="no")
    assert load_identity(IDENTITY) == identity
    _assert_refused(load_identity, b"gammma: 7", "did you mean 'gamma'?")
    _assert_refused(load_identity, b"gamma: 99", "gamma is 99")


@pytest.mark.parametrize("load", [load_policy, load_sts, load_sps, load_identity])
def test_every_loader_refuses_what_is_no_text(load: object) -> None:
    _assert_refused(load, b"\xff\xfe\x00", "is not UTF-8")
    _assert_refused(load, b"", "is empty")
    _assert_refused(load, b" " * (MAX_BYTES + 1), f"at most {MAX_BYTES}")


def test_a_large_file_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "sparse.json"
    with path.open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    _assert_refused(read_limited, path, "104857600 bytes")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    _assert_refused(read_limited, tmp_path / "none", "No such file")
    _assert_refused(read_limited, tmp_path, "cannot be read")
    _assert_refused(read_limited, Path("/dev/zero"), "not a regular file")
    good = tmp_path / "good"
    good.write_bytes(b"x" * MAX_BYTES)
    assert len(read_limited(good)) == MAX_BYTES
    assert os.stat(good).st_size == MAX_BYTES


def _assert_refused(load: object, argument: object, expected: str) -> None:
    with pytest.raises(FileFault) as caught:
        load(argument)  # type: ignore[operator]
    text = str(caught.value)
    assert expected in text
    assert "\n" not in text
    assert len(text) < 500
