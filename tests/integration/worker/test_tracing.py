"""What a span says of a request, from the counters that the scheduler keeps."""

from types import SimpleNamespace

import pytest

from dspark_sglang.tracing.decode import attributes, totals_of


def request(**changes):
    facts = {
        "spec_verify_ct": 4,
        "spec_num_correct_drafts": 9,
        "spec_num_cap_tokens": 20,
        "spec_correct_drafts_histogram": [1, 0, 1, 1, 1],
    }
    return SimpleNamespace(**{**facts, **changes})


def test_totals_of_a_trimmed_request():
    got = attributes(request(), gamma=7, revision=3)
    assert got["dspark.rounds"] == 4
    assert got["dspark.drafted"] == 28
    assert got["dspark.verified"] == 20
    assert got["dspark.trimmed"] == 12
    assert got["dspark.accepted"] == 9
    assert got["dspark.accept_length"] == pytest.approx(3.25)
    assert got["dspark.accept_rate"] == pytest.approx(9 / 28)
    assert got["dspark.accepted_histogram"] == [1, 0, 1, 1, 1, 0, 0, 0]
    assert got["dspark.revisions"] == [3]


def test_static_mode_counts_no_lengths_and_verifies_everything():
    totals = totals_of(rounds=4, accepted=0, verified=0, gamma=7)
    assert totals["dspark.verified"] == 32
    assert totals["dspark.trimmed"] == 0
    assert totals["dspark.accept_length"] == 1.0


def test_revisions_are_in_order_and_named_once():
    req = request(dspark_revisions=(0, 4, 4, 5))
    assert attributes(req, gamma=7, revision=6)["dspark.revisions"] == [0, 4, 5, 6]


def test_only_requests_that_have_decoded_remember_a_revision():
    from dspark_sglang.worker.control import note_in_flight

    running, waiting = request(), request(spec_verify_ct=0)
    scheduler = SimpleNamespace(running_batch=SimpleNamespace(reqs=[running, waiting]))
    note_in_flight(scheduler, 5)
    note_in_flight(scheduler, 6)
    assert running.dspark_revisions == (5, 6)
    assert not hasattr(waiting, "dspark_revisions")
