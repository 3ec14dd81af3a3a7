"""dsparkctl as a process against a real service: what it does, and how it refuses."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from control_helpers import SECONDS, Service, hello, service_here, until, worker

from dspark_control.core import SpsStepTable
from dspark_control.files import dump_sps, load_policy, load_sts

STEEP = "mode: scheduled\nmin_predicted_gain: 0.02\n"
ALL = "mode: verify_all\n"
STS = '{"temperatures":[1.0,1.1,1.2,1.3,1.4,1.5,1.6]}'
SPS = '{"sample_batch_tokens":[1,8],"sample_steps_per_sec":[10.0,5.0],"max_batch_tokens":64}'
ADDITIVE = (
    '{"bias_seconds":0.01,"bs_probes":[0,8],"alpha_seconds":[0,0.1],'
    '"m_probes":[8,1],"theta_seconds":[0,0.1]}'
)
REASON = ("--author", "alice", "--reason", "a test")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with one connected worker (gamma 7 on an H200) that applies what it gets."""
    database = f"sqlite:///{tmp_path_factory.mktemp('ctl') / 'x.db'}"
    with service_here(database) as service, worker(service, hello("w1")) as client:
        client.apply()
        until(lambda: service.worker("w1").HasField("last_ack"))
        yield service


class Ctl:
    """Runs dsparkctl in a directory of its own."""

    def __init__(self, service: Service, directory: Path) -> None:
        self.directory = directory
        self._environment = {**os.environ, "DSPARKCTL_SERVER": service.target}

    def write(self, name: str, content: str | bytes) -> str:
        data = content.encode() if isinstance(content, str) else content
        (self.directory / name).write_bytes(data)
        return name

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "dspark_control.ctl.main", *arguments],
            cwd=self.directory,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> str:
        """The output of a command that must succeed."""
        process = self.start(*arguments)
        out, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert errors == ""
        return out

    def json(self, *arguments: str) -> dict[str, object]:
        return json.loads(self.run(*arguments, "-o", "json"))


@pytest.fixture
def ctl(fleet: Service, tmp_path: Path) -> Ctl:
    return Ctl(fleet, tmp_path)


def assert_refused(process: subprocess.Popen[str], *expected: str) -> None:
    """One line on stderr, nothing on stdout, exit code 1."""
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 1, (out, errors)
    assert out == ""
    assert errors.startswith("dsparkctl: ")
    assert errors.count("\n") == 1
    assert len(errors) < 500
    for part in expected:
        assert part in errors


def test_every_bad_input_is_one_clear_line_and_changes_nothing(ctl: Ctl, fleet: Service) -> None:
    fleet.put("base", load_policy(STEEP.encode()))
    fleet.bind("default", "base")
    before = fleet.revision()
    ctl.write("id.yaml", "gpu: B200\ngamma: 7\n")
    with (ctl.directory / "huge.json").open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    bind = ("--bind", "default")
    cases = [
        (("sts", "g.json", '{"temperatures":[1,1,1,1,1]}', *bind), ("'w1'", "gamma is 7")),
        (("sts", "i.json", STS, *bind, "--measured-on", "id.yaml"), ("'w1'", "gpu 'B200'", "H200")),
        (("sps", "i2.json", SPS, *bind, "--measured-on", "id.yaml"), ("identity_mismatch",)),
        (("sps", "u.json", SPS.replace("1,8", "8,1")), ("sample_batch_tokens[1] is 1", "sort")),
        (("sps", "a.json", ADDITIVE), ("m_probes[1] is 1 after 8",)),
        (("sps", "neg.json", SPS.replace("5.0", "-5.0")), ("sample_steps_per_sec[1] is -5.0",)),
        (("sts", "nan.json", STS.replace("1.1", "NaN")), ("temperatures[1] is nan",)),
        (("policy", "nan.yaml", "survival_floor: .nan"), ("survival_floor is nan",)),
        (("policy", "typo.yaml", "mode: scheduled\nmin_gain: 1"), ("did you mean 'min_pred",)),
        (("sts", "field.json", '{"temps":[1]}'), ("did you mean 'temperatures'",)),
        (("policy", "empty.yaml", ""), ("empty.yaml", "is empty")),
        (("sts", "empty.json", ""), ("empty.json", "is empty")),
        (("sps", "huge.json", None), ("104857600 bytes",)),
        (("policy", "latin.yaml", "mode: \xe9".encode("latin-1")), ("not UTF-8",)),
        (("policy", "Bad Name!.yaml", STEEP), ("name is 'bad name!'", "give --name")),
        (("policy", "none.yaml", None), ("No such file",)),
    ]
    running = []
    for (kind, name, content, *flags), expected in cases:
        if content is not None:
            ctl.write(name, content)
        running.append((ctl.start(kind, "apply", name, *flags, *REASON), expected))
    for process, expected in running:
        assert_refused(process, *expected)
    assert fleet.revision() == before


def test_refusals_of_the_service_are_one_line_too(ctl: Ctl, fleet: Service) -> None:
    ctl.write("p.yaml", STEEP)
    ctl.write("s.json", STS)
    before = fleet.revision()
    running = [
        (ctl.start("policy", "apply", "p.yaml", "--expect", "9999"), ("current revision is",)),
        (ctl.start("bind", "fresh", "--sts", "x"), ("'fresh' does not exist", "policy")),
        (ctl.start("bind", "fresh", "--policy", "nope"), ("no policy artifact", "NOT_FOUND")),
        (ctl.start("bind", "fresh", "--policy", "p", "--selector", "x"), ("must be key=value",)),
        (ctl.start("bind", "UPPER", "--policy", "p"), ("binding.name is 'UPPER'",)),
        (ctl.start("bind", "b", "--sts", "x", "--no-sts"), ("not both",)),
        (ctl.start("unbind", "fresh"), ("no binding is called 'fresh'",)),
        (ctl.start("get", "sps", "nope"), ("no sps artifact",)),
        (
            ctl.start("sts", "apply", "s.json", "--measured-on-worker", "ghost"),
            ("no worker 'ghost'",),
        ),
        (ctl.start("get", "bindings", "--server", "127.0.0.1:1"), ("is not available",)),
        (ctl.start("get", "bindings", "--server", "10.0.0.1:1"), ("not on this machine",)),
        (ctl.start("get", "bindings", "--server", "nonsense"), ("must be host:port",)),
    ]
    for process, expected in running:
        assert_refused(process, *expected)
    assert fleet.revision() == before
    usage = ctl.start("policy", "apply")
    usage.communicate(timeout=60)
    assert usage.returncode == 2


def test_apply_bind_get_unbind(ctl: Ctl, fleet: Service) -> None:
    ctl.write("steep.yaml", STEEP)
    ctl.write("Tables.json", STS)
    ctl.write("sps.json", SPS)
    ctl.write("id.yaml", b"gpu: H200\n")
    applied = ctl.json("policy", "apply", "steep.yaml", "--bind", "night", *REASON)
    artifact, binding = applied["artifact"], applied["binding"]
    assert applied["created"] is True
    assert artifact["policy"]["min_predicted_gain"] == 0.02
    assert binding["policy_digest"] == artifact["digest"]
    assert binding["revision"] == artifact["revision"] + 1
    sts = ctl.json("sts", "apply", "Tables.json", "--measured-on-worker", "w1", "--bind", "night")
    assert sts["artifact"]["name"] == "tables"
    assert sts["artifact"]["measured_on"]["gamma"] == 7
    assert sts["binding"]["policy_digest"] == artifact["digest"]
    sps = ctl.json("sps", "apply", "sps.json", "--name", "h200", "--measured-on", "id.yaml")
    bound = ctl.json("bind", "night", "--sps", sps["artifact"]["digest"][:19], "--no-sts")
    assert bound["binding"]["sps_digest"] == sps["artifact"]["digest"]
    assert bound["binding"]["sts_digest"] == ""
    assert bound["binding"]["policy_digest"] == artifact["digest"]
    bound = ctl.json("bind", "night", "--selector", "pool=a", "--selector", "gpu=NVIDIA H200")
    assert bound["binding"]["selector"] == {"gpu": "NVIDIA H200", "pool": "a"}
    assert bound["binding"]["sps_digest"] == sps["artifact"]["digest"]
    assert load_sts(ctl.run("get", "sts", "tables", "--raw").encode()) == load_sts(STS.encode())
    again = ctl.json("policy", "apply", "steep.yaml")
    assert again["created"] is False
    table = ctl.run("get", "policy", "steep")
    assert artifact["digest"][:19] in table
    assert "min_predicted_gain: 0.02" in table
    listed = yaml.safe_load(ctl.run("get", "bindings", "-o", "yaml"))
    assert "night" in [b["name"] for b in listed["bindings"]]
    assert listed["revision"] == fleet.revision()
    entries = ctl.json("history", "--limit", "3")["entries"]
    assert [e["revision"] for e in entries] == list(
        range(fleet.revision(), fleet.revision() - 3, -1)
    )
    assert entries[0]["detail"]["after"]["selector"]["pool"] == "a"
    assert entries[0]["reason"].startswith("dsparkctl bind night")
    assert "removed in revision" in ctl.run("unbind", "night")


def test_workers_and_watch(ctl: Ctl, fleet: Service) -> None:
    ctl.write("watched.yaml", ALL)
    watching = ctl.start("watch", "--after", str(fleet.revision()))
    try:
        ctl.run("policy", "apply", "watched.yaml", "--bind", "elsewhere", *REASON)
        lines = [watching.stdout.readline() for _ in range(2)]
    finally:
        watching.terminate()
        watching.communicate(timeout=SECONDS)
    assert "artifact.put" in lines[0]
    assert "by alice: a test" in lines[0]
    assert "binding.put elsewhere" in lines[1]
    workers = ctl.json("workers")["workers"]
    assert workers[0]["worker_id"] == "w1"
    assert workers[0]["identity"]["gpu"] == "H200"
    assert workers[0]["connected"] is True
    assert "w1" in ctl.run("workers")


def test_concurrent_binds_all_succeed(ctl: Ctl, fleet: Service) -> None:
    fleet.put("base", load_policy(ALL.encode()))
    fleet.put("table", SpsStepTable((1,), (1.0,), 1))
    started = [
        ctl.start("bind", f"pool{index}", "--policy", "base", "--selector", f"pool={index}")
        for index in range(3)
    ]
    for process in started:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    names = [b["name"] for b in ctl.json("get", "bindings")["bindings"]]
    assert {"pool0", "pool1", "pool2"} <= set(names)
    assert dump_sps(SpsStepTable((1,), (1.0,), 1)).decode() in ctl.run("get", "sps", "table")
