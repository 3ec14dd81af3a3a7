"""The hand-off never loses or doubles an update, and costs the step path nothing."""

import pickle
import threading
import timeit

from dspark_control.core import default_snapshot
from dspark_sglang.agent import Mailbox, Outcome, PendingUpdate


def update(number: int) -> PendingUpdate:
    return PendingUpdate(f"n{number}", default_snapshot(number))


def test_an_update_is_taken_once():
    mailbox = Mailbox()
    assert mailbox.take() is None
    assert mailbox.post(update(1)) is None
    assert mailbox.take() == update(1)
    assert mailbox.take() is None


def test_a_newer_update_replaces_one_that_was_not_taken():
    mailbox = Mailbox()
    mailbox.post(update(1))
    assert mailbox.post(update(2)) == update(1)
    assert mailbox.take() == update(2)
    assert mailbox.take() is None


def test_a_taken_update_is_not_replaced():
    mailbox = Mailbox()
    mailbox.post(update(1))
    mailbox.take()
    assert mailbox.post(update(2)) is None


def test_withdraw_returns_what_was_not_taken():
    mailbox = Mailbox()
    assert mailbox.withdraw() is None
    mailbox.post(update(1))
    assert mailbox.withdraw() == update(1)
    assert mailbox.take() is None


def test_the_agent_sees_whether_the_scheduler_runs():
    mailbox = Mailbox()
    mailbox.post(update(1))
    mailbox.withdraw()
    assert not mailbox.is_polled
    mailbox.take()
    assert mailbox.is_polled


def test_outcomes_reach_the_agent_in_order():
    mailbox = Mailbox()
    outcomes = [Outcome("a", True, "", (3, 3)), Outcome("b", False, "out of memory", ())]
    for outcome in outcomes:
        mailbox.report(outcome)
    assert [mailbox.events.get(timeout=1) for _ in outcomes] == outcomes


def test_both_messages_survive_the_broadcast_to_other_ranks():
    for message in (update(7), Outcome("n7", True, "", (1, 1))):
        assert pickle.loads(pickle.dumps(message)) == message


def test_every_update_is_either_taken_or_given_back():
    mailbox, count = Mailbox(), 20_000
    taken: list[str] = []
    is_done = threading.Event()

    def scheduler() -> None:
        while not is_done.is_set() or mailbox._slot:
            if (taken_update := mailbox.take()) is not None:
                taken.append(taken_update.nonce)

    thread = threading.Thread(target=scheduler)
    thread.start()
    replaced = [mailbox.post(update(number)) for number in range(count)]
    is_done.set()
    thread.join(30)
    given_back = [each.nonce for each in replaced if each is not None]
    assert sorted(taken + given_back) == sorted(f"n{number}" for number in range(count))


def test_asking_an_empty_mailbox_costs_under_a_microsecond():
    mailbox, calls = Mailbox(), 100_000
    best = min(timeit.repeat(mailbox.take, number=calls, repeat=5)) / calls
    assert best < 1e-6, f"{best * 1e9:.0f} ns"
