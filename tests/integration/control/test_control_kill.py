"""SIGKILL in the middle of writes: what was acknowledged stays, the rest is whole or absent."""

import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import grpc
from control_helpers import connected, context, put_request, read_port, start_process

from dspark.control.v1 import admin_pb2
from dspark_control.core import SchedulingPolicy
from dspark_control.store import Store


def test_a_hundred_kills_lose_nothing_and_leave_nothing_half_done(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    script = Path(__file__).with_name("kill_writers.py")
    seed = random.randrange(2**32)
    done = subprocess.run(
        [sys.executable, str(script), url, "100", str(seed)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    numbers = dict(pair.split("=") for pair in done.stdout.split())
    assert numbers["kills"] == "100"
    assert int(numbers["acknowledged"]) > 100


def test_a_killed_service_comes_back_with_all_it_acknowledged(tmp_path: Path) -> None:
    acknowledged: list[int] = []
    for kill in range(4):
        process = start_process(tmp_path)
        try:
            port = read_port(process, tmp_path)
            writer = threading.Thread(target=_write, args=(port, kill, acknowledged))
            before = len(acknowledged)
            writer.start()
            while len(acknowledged) < before + 4:
                time.sleep(0.005)
            time.sleep(random.uniform(0, 0.1))
        finally:
            process.kill()
            process.communicate()
        writer.join()
    store = Store(f"sqlite:///{tmp_path / 'control.db'}")
    assert store.verify_chain() is None
    known = {entry.revision for entry in store.history(limit=100_000)}
    assert set(acknowledged) <= known
    assert len(acknowledged) == len(set(acknowledged))
    store.close()


def _write(port: int, kill: int, acknowledged: list[int]) -> None:
    with connected(f"127.0.0.1:{port}", 0) as service:
        number = 0
        try:
            while True:
                number += 1
                policy = SchedulingPolicy(min_predicted_gain=kill + number / 1024)
                put = service.admin.PutArtifact(put_request("p", policy), timeout=5)
                acknowledged.append(put.artifact.revision)
                binding = admin_pb2.Binding(name="b", policy_digest="p")
                request = admin_pb2.PutBindingRequest(context=context(), binding=binding)
                answer = service.admin.PutBinding(request, timeout=5)
                acknowledged.append(answer.binding.revision)
        except grpc.RpcError:
            return
