"""Progress of a run in the terminal: numbered steps with the seconds since the start."""

import time

from rich.console import Console


class Steps:
    """Prints what is being done, so that nobody waits before a silent terminal."""

    def __init__(self) -> None:
        self.console = Console(highlight=False, markup=False, soft_wrap=True)
        self._started = time.monotonic()
        self._number = 0

    def __call__(self, text: str) -> None:
        """Begins a step."""
        self._number += 1
        self._line(f"{self._number}. {text}")

    def note(self, text: str) -> None:
        """Says how the step goes."""
        self._line(f"   {text}")

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    def _line(self, text: str) -> None:
        self.console.print(f"[{self.elapsed():5.0f} s] {text}")
