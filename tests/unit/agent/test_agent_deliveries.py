"""Every update ends in exactly one verdict."""

import pytest

from dspark_control.core import default_snapshot
from dspark_sglang.agent import Mailbox, Outcome, PendingUpdate
from dspark_sglang.agent.deliveries import MAX_LATE, Deliveries, Delivery, Verdict


@pytest.fixture
def mailbox() -> Mailbox:
    mailbox = Mailbox()
    mailbox.take()  # the scheduler runs
    return mailbox


@pytest.fixture
def deliveries(mailbox: Mailbox) -> Deliveries:
    return Deliveries(mailbox, timeout=30.0)


def delivery(number: int) -> Delivery:
    return Delivery(PendingUpdate(f"n{number}", default_snapshot(number)), b"", 1)


def applied(number: int) -> Outcome:
    return Outcome(f"n{number}", True, "", (5, 5))


def test_an_outcome_ends_it_once(deliveries, mailbox):
    assert deliveries.post(delivery(1), 0.0) is None
    assert mailbox.take() == delivery(1).update
    settled = deliveries.settle(applied(1))
    assert (settled.delivery, settled.verdict) == (delivery(1), Verdict.APPLIED)
    assert settled.rank_steps == (5, 5)
    assert deliveries.settle(applied(1)) is None
    assert deliveries.is_done(1)
    assert deliveries.next_deadline() is None


def test_a_failed_outcome_says_why(deliveries, mailbox):
    deliveries.post(delivery(1), 0.0)
    mailbox.take()
    settled = deliveries.settle(Outcome("n1", False, "out of memory", ()))
    assert (settled.verdict, settled.message) == (Verdict.FAILED, "out of memory")


def test_a_flood_leaves_only_the_newest(deliveries, mailbox):
    ends = [deliveries.post(delivery(number), 0.0) for number in range(100)]
    assert ends[0] is None
    assert [end.delivery.update.nonce for end in ends[1:]] == [f"n{n}" for n in range(99)]
    assert {end.verdict for end in ends[1:]} == {Verdict.SUPERSEDED}
    assert "revision 99" in ends[-1].message
    assert mailbox.take() == delivery(99).update


def test_one_may_be_applied_while_the_next_waits(deliveries, mailbox):
    deliveries.post(delivery(1), 0.0)
    mailbox.take()
    assert deliveries.post(delivery(2), 0.0) is None
    assert deliveries.settle(applied(1)).verdict is Verdict.APPLIED
    assert not deliveries.is_done(1)
    assert deliveries.is_done(2)
    mailbox.take()
    assert deliveries.settle(applied(2)).verdict is Verdict.APPLIED


def test_what_is_not_taken_in_time_is_withdrawn(deliveries, mailbox):
    deliveries.post(delivery(1), 100.0)
    assert deliveries.next_deadline() == 130.0
    assert deliveries.expire(129.9) == []
    (settled,) = deliveries.expire(130.0)
    assert settled.verdict is Verdict.FAILED
    assert "did not take it within 30 s" in settled.message
    assert mailbox.take() is None
    assert deliveries.settle(applied(1)) is None


def test_what_is_applied_too_late_is_known_to_be_late(deliveries, mailbox):
    deliveries.post(delivery(1), 0.0)
    mailbox.take()
    (settled,) = deliveries.expire(30.0)
    assert "did not answer it within 30 s" in settled.message
    late = deliveries.settle(applied(1))
    assert (late.verdict, late.is_late) == (Verdict.APPLIED, True)
    assert deliveries.settle(applied(1)) is None


def test_a_late_failure_is_no_news(deliveries, mailbox):
    deliveries.post(delivery(1), 0.0)
    mailbox.take()
    deliveries.expire(30.0)
    assert deliveries.settle(Outcome("n1", False, "no", ())) is None


def test_giving_up_the_old_one_leaves_the_new_one_alone(deliveries, mailbox):
    deliveries.post(delivery(1), 0.0)
    mailbox.take()
    deliveries.post(delivery(2), 20.0)
    (settled,) = deliveries.expire(31.0)
    assert settled.delivery == delivery(1)
    assert mailbox.take() == delivery(2).update


def test_time_does_not_run_while_the_engine_starts():
    mailbox = Mailbox()
    deliveries = Deliveries(mailbox, timeout=30.0)
    deliveries.post(delivery(1), 0.0)
    assert deliveries.expire(600.0) == []  # capturing graphs takes minutes
    assert mailbox.take() == delivery(1).update
    assert deliveries.expire(629.0) == []
    assert len(deliveries.expire(630.0)) == 1


def test_an_unknown_outcome_is_ignored(deliveries):
    assert deliveries.settle(Outcome("never-sent", True, "", ())) is None


def test_memory_of_late_ones_is_bounded(deliveries, mailbox):
    for number in range(MAX_LATE + 5):
        deliveries.post(delivery(number), 0.0)
        mailbox.take()
        deliveries.expire(30.0)
    assert deliveries.settle(applied(0)) is None
    assert deliveries.settle(applied(MAX_LATE + 4)).is_late


def test_an_answer_goes_to_the_stream_that_asked_last(deliveries, mailbox):
    deliveries.post(delivery(1), 0.0)
    assert deliveries.adopt("n1", 2)
    assert not deliveries.adopt("n2", 2)
    mailbox.take()
    assert deliveries.settle(applied(1)).delivery.stream == 2
