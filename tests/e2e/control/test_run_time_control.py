"""A running engine follows the control service, and does without it."""

import json
import threading
import time
import urllib.request

import pytest

from dspark_sglang.demo.admin import VERIFIES_ALL, VERIFIES_LITTLE
from dspark_sglang.demo.client import generate_all

from .conftest import WORKER_ID
from .load import steady_load, streamed

pytestmark = pytest.mark.timeout(600)
FULL = 8.0
"""Tokens verified a step without trimming: gamma 7 and the anchor."""
MOST = 6.0
"""On a flat cost curve only tokens that cannot survive (below 1e-6) stay out."""


def mean_verified(done):
    return sum(each.answer.verified_per_step for each in done) / len(done)


def test_budgets_fall_within_a_second_of_the_write_and_rise_again(fleet, setting):
    fleet.apply(VERIFIES_ALL)
    with steady_load(fleet.url, setting.texts, max_tokens=12, concurrency=4) as load:
        assert mean_verified(load.wait_for(4, started_after=0.0)) > MOST
        written = time.monotonic()
        fleet.admin.bind(VERIFIES_LITTLE, "steep")
        trimmed = load.wait_for(8, started_after=written + 1.0)
        written = time.monotonic()
        fleet.admin.bind(VERIFIES_ALL, "flat")
        restored = load.wait_for(8, started_after=written + 1.0)
    assert max(each.answer.verified_per_step for each in trimmed) <= 3.0
    assert mean_verified(restored) > MOST


def test_output_stays_the_same_while_everything_changes_every_200_ms(fleet, setting):
    texts = setting.texts[:8]
    fleet.apply(VERIFIES_ALL)
    expected = [a.token_ids for a in generate_all(fleet.url, texts, 48, concurrency=4)]
    stop, revisions = threading.Event(), []

    def flip():
        while not stop.wait(0.2):
            schedule = VERIFIES_ALL if len(revisions) % 2 else VERIFIES_LITTLE
            revisions.append(fleet.admin.bind(schedule, "flip"))

    flipper = threading.Thread(target=flip)
    flipper.start()
    try:
        got = generate_all(fleet.url, texts, 48, concurrency=4)
    finally:
        stop.set()
        flipper.join()
    assert [a.token_ids for a in got] == expected
    assert len(revisions) >= 4
    assert any(1.0 < a.verified_per_step < FULL for a in got)


def test_the_server_itself_says_what_it_runs(fleet):
    fleet.apply(VERIFIES_LITTLE)
    revision = fleet.apply(VERIFIES_ALL)
    with urllib.request.urlopen(f"{fleet.url}/server_info", timeout=30) as answer:
        status = json.load(answer)["internal_states"][0]["dspark"]
    assert (status["state"], status["source"]) == ("ready", "service")
    assert status["applied_revision"] == revision


def test_a_killed_service_is_not_missed_and_its_return_brings_what_was(fleet, setting):
    texts = setting.texts[:4]
    fleet.apply(VERIFIES_ALL)
    expected = [a.token_ids for a in generate_all(fleet.url, texts, 24, concurrency=4)]
    with steady_load(fleet.url, texts, max_tokens=24, concurrency=4) as load:
        load.wait_for(4, started_after=0.0)
        fleet.kill_service()
        without = load.wait_for(8, started_after=time.monotonic())
        fleet.start_service()
        back = time.monotonic()
        revision = fleet.admin.bind(VERIFIES_LITTLE, "written before the worker is back")
        fleet.admin.wait_applied(WORKER_ID, revision, 10.0)
        assert time.monotonic() - back < 10.0
        trimmed = load.wait_for(4, started_after=time.monotonic())
    texts_of = {tuple(ids) for ids in expected}
    assert {each.answer.token_ids for each in (*without, *trimmed)} <= texts_of
    assert mean_verified(without) > MOST
    assert mean_verified(trimmed) < 4.0


def test_a_request_says_what_was_verified_and_under_which_revisions(fleet, setting):
    first, second = fleet.apply(VERIFIES_ALL), 0
    with streamed(fleet.url, setting.texts[1], 64, "ab" * 16) as answers:
        for _ in range(5):
            next(answers)
        second = fleet.apply(VERIFIES_LITTLE)
        *_, answer = answers
    spans = fleet.trace("ab" * 16, 30)
    (span,) = [s for s in spans if s.name == "dspark.decode"]
    (root,) = [s for s in spans if s.name.strip().startswith("Req")]
    facts = span.attributes
    assert facts["dspark.rounds"] == answer.rounds
    assert facts["dspark.drafted"] == 7 * answer.rounds
    assert facts["dspark.verified"] == round(answer.verified_per_step * answer.rounds)
    assert facts["dspark.trimmed"] == 8 * answer.rounds - facts["dspark.verified"]
    assert facts["dspark.trimmed"] > 0
    assert facts["dspark.accept_length"] == pytest.approx(answer.accept_length)
    assert sum(facts["dspark.accepted_histogram"]) == answer.rounds
    accepted = sum(n * count for n, count in enumerate(facts["dspark.accepted_histogram"]))
    assert accepted == facts["dspark.accepted"]
    assert facts["dspark.revisions"] == [first, second]
    assert span.start_ns >= root.start_ns
    assert span.end_ns <= root.end_ns
    for name in ("rounds", "drafted", "verified", "trimmed", "accepted"):
        assert root.attributes[f"dspark.{name}"] == facts[f"dspark.{name}"]
    parents = {s.span_id: s for s in spans}
    above = span
    while above.parent_id in parents:
        above = parents[above.parent_id]
    assert above is root
