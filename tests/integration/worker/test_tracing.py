"""What a span says of a request, from the counters that the scheduler keeps."""

from types import SimpleNamespace

import pytest

from dspark_sglang.tracing.decode import attributes, totals_of


def request(**changes):
    facts = {
        "spec_verify_ct": 4,
        "spec_num_correct_drafts": 9,
        "spec_num_cap_tokens": 20,
        "spec_cap_lens_histogram": [0, 0, 1, 0, 1, 0, 1, 0, 1],
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
    totals = totals_of(rounds=4, accepted=0, verified=0, trimmable=0, gamma=7)
    assert totals["dspark.verified"] == 32
    assert totals["dspark.trimmed"] == 0
    assert totals["dspark.accept_length"] == 1.0


def test_rounds_past_the_captured_graphs_verified_the_whole_block():
    totals = totals_of(rounds=10, accepted=0, verified=20, trimmable=5, gamma=7)
    assert totals["dspark.verified"] == 60
    assert totals["dspark.trimmed"] == 20


def test_revisions_are_in_order_and_named_once():
    req = request(dspark_revisions=(0, 4, 4, 5))
    assert attributes(req, gamma=7, revision=6)["dspark.revisions"] == [0, 4, 5, 6]


def test_only_requests_that_have_decoded_remember_a_revision():
    from dspark_sglang.worker.control import note_in_flight

    running, launched, prefilled, retracted = (request(spec_verify_ct=n) for n in (4, 0, 0, 2))
    decode = SimpleNamespace(is_decode=lambda: True)
    scheduler = SimpleNamespace(
        running_batch=SimpleNamespace(reqs=[running, launched, prefilled]),
        last_batch=SimpleNamespace(reqs=[running, launched], forward_mode=decode),
        waiting_queue=[retracted],
    )
    note_in_flight(scheduler, 5)
    note_in_flight(scheduler, 6)
    for served in (running, launched, retracted):
        assert served.dspark_revisions == (5, 6)
    assert not hasattr(prefilled, "dspark_revisions")


def test_a_broken_trace_context_never_fails_the_request(caplog):
    from dspark_sglang.tracing.decode import write_span

    req = request(rid="r1", finished=lambda: True, time_stats=SimpleNamespace())
    req.time_stats.trace_ctx = SimpleNamespace(tracing_enable=True)
    write_span(SimpleNamespace(draft_worker=None), req, None)
    assert "The span of request r1 could not be written" in caplog.text
