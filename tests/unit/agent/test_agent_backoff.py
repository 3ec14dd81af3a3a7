"""Waits are spread over the whole range up to a bound that doubles."""

from statistics import mean

from dspark_sglang.agent.backoff import Backoff


def test_bounds_double_up_to_the_maximum():
    samples: list[list[float]] = [[] for _ in range(8)]
    for _ in range(2000):
        backoff = Backoff(0.2, 5.0)
        for waits in samples:
            waits.append(backoff.next_wait())
    for waits, bound in zip(samples, [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0], strict=True):
        assert min(waits) >= 0.0
        assert bound * 0.95 < max(waits) <= bound
        assert min(waits) < bound * 0.05  # full jitter: from zero, not from half
        assert abs(mean(waits) - bound / 2) < bound * 0.05


def test_a_stream_that_lived_starts_over():
    backoff = Backoff(0.2, 5.0)
    for _ in range(100):
        backoff.next_wait()
    backoff.note_lived(5.0)
    assert backoff.next_wait() <= 0.2


def test_a_stream_that_ended_soon_does_not():
    waits = []
    for _ in range(200):
        backoff = Backoff(0.2, 5.0)
        for _ in range(10):
            backoff.next_wait()
            backoff.note_lived(4.9)
        waits.append(backoff.next_wait())
    assert max(waits) > 1.0


def test_it_never_overflows():
    backoff = Backoff(0.01, 3600.0)
    assert all(backoff.next_wait() <= 3600.0 for _ in range(5000))
