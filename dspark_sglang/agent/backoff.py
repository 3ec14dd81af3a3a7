"""How long to wait before the next connection: exponential backoff with full jitter.

Every wait is random from zero to a bound that doubles, so that a fleet whose service
returns does not come back as one wave.
"""

import random


class Backoff:
    """The waits between attempts; bounds double from `initial` to `maximum` seconds."""

    def __init__(self, initial: float, maximum: float) -> None:
        self._initial = initial
        self._maximum = maximum
        self._bound = initial

    def next_wait(self) -> float:
        """Seconds to wait now; the next bound is twice as high."""
        wait = random.uniform(0.0, self._bound)
        self._bound = min(self._maximum, self._bound * 2.0)
        return wait

    def note_lived(self, seconds: float) -> None:
        """Starts over after a stream that lived at least as long as the longest wait."""
        if seconds >= self._maximum:
            self._bound = self._initial
