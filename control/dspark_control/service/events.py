"""Who follows changes: each follower holds a bounded list of what it has not seen.

Of a worker only its latest state matters and revisions are read from the store, so a slow
follower costs at most one id per worker.
"""

import asyncio


class Subscription:
    """One follower."""

    def __init__(self) -> None:
        self.wake = asyncio.Event()
        self._workers: dict[str, None] = {}

    def mark(self, worker_id: str) -> None:
        """Note that a worker changed."""
        self._workers[worker_id] = None
        self.wake.set()

    def take_workers(self) -> tuple[str, ...]:
        """The ids of the workers that changed since the last call."""
        changed, self._workers = tuple(self._workers), {}
        return changed


class EventBus:
    """All followers."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()

    def subscribe(self) -> Subscription:
        """A new follower, which sees what happens from now on."""
        subscription = Subscription()
        self._subscriptions.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Forget a follower."""
        self._subscriptions.discard(subscription)

    def worker_changed(self, worker_id: str) -> None:
        """Tell every follower about a worker."""
        for subscription in self._subscriptions:
            subscription.mark(worker_id)

    def wake_all(self) -> None:
        """Tell every follower to look at the revisions (or at the end)."""
        for subscription in self._subscriptions:
            subscription.wake.set()
