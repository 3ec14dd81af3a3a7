"""Kills a writing process at a random moment, over and over; run by `test_control_kill.py`.

Forks instead of starting interpreters, so that a hundred kills take seconds; it imports
no gRPC, which does not survive a fork.
"""

import os
import random
import signal
import struct
import sys
import time

from dspark_control.core import Binding, SchedulingPolicy
from dspark_control.store import Draft, Store, WriteContext

PARTS = 5
"""Databases over which the kills are spread, since each kill checks a whole one."""

WHO = WriteContext("writer", "until it is killed")


def write_for_ever(url: str, pipe: int, seed: int) -> None:
    store = Store(url)
    number = 0
    while True:
        number += 1
        policy = SchedulingPolicy(min_predicted_gain=seed + number / 1024)
        revision = store.put_artifact(WHO, Draft("p", policy)).artifact.revision
        os.write(pipe, struct.pack("<Q", revision))
        revision = store.put_binding(WHO, Binding(f"b{number % 3}", {}, "p")).revision
        os.write(pipe, struct.pack("<Q", revision))


def kill_one(url: str, seed: int, chance: random.Random) -> list[int]:
    """The revisions that a writer acknowledged before it was killed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            write_for_ever(url, writing, seed)
        finally:
            os._exit(1)
    os.close(writing)
    first = os.read(reading, 8) if chance.random() < 0.9 else b""  # else: kill while opening
    time.sleep(chance.uniform(0, 0.03))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    acknowledged = first
    while data := os.read(reading, 65536):
        acknowledged += data
    os.close(reading)
    return [value for (value,) in struct.iter_unpack("<Q", acknowledged)]


def main(url: str, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    counts = [one_database(f"{url}.{part}", kills // PARTS, chance) for part in range(PARTS)]
    print(f"kills={PARTS * (kills // PARTS)} acknowledged={sum(counts)}")


def one_database(url: str, kills: int, chance: random.Random) -> int:
    """Kill so many writers of one database; how many revisions they acknowledged."""
    total = 0
    previous = 0
    for kill in range(kills):
        acknowledged = kill_one(url, kill, chance)
        store = Store(url)
        revision, fault = store.list_bindings()[0], store.verify_chain()
        known = {entry.revision for entry in store.history(limit=1000)}
        store.close()
        newest = max(acknowledged, default=previous)
        assert fault is None, f"kill {kill}: {fault}"
        assert newest <= revision <= newest + 1 + (not acknowledged), (kill, newest, revision)
        assert set(acknowledged) <= known, f"kill {kill}: an acknowledged revision is lost"
        previous = revision
        total += len(acknowledged)
    return total


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
