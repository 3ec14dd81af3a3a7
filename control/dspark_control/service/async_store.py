"""The store off the event loop: a call runs in a thread, and the streams go on."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from dspark_control.store import Store

READERS = 3
"""Threads for reads; writes have one of their own, so that a slow write delays no read."""

Params = ParamSpec("Params")
Result = TypeVar("Result")


class AsyncStore:
    """Runs the calls of a `Store` in threads; a cancelled caller does not interrupt a call."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="store-read")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-write")

    async def read(
        self, method: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """The result of `method(*args)`, a call that writes nothing."""
        work = self._readers.submit(method, *args, **kwargs)
        return await asyncio.shield(asyncio.wrap_future(work))

    async def write(
        self, method: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """The result of `method(*args)`, a call that writes; one runs at a time."""
        work = self._writer.submit(method, *args, **kwargs)
        return await asyncio.shield(asyncio.wrap_future(work))

    def close(self) -> None:
        """Wait for the running calls and close the store."""
        self._writer.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        self.store.close()
