"""What a store call can answer besides its result; each maps to one gRPC status."""


class StoreError(Exception):
    """A call that the store did not carry out; nothing of it was written."""


class Conflict(StoreError):
    """Another write came first."""

    def __init__(self, expected: int, current: int) -> None:
        super().__init__(
            f"expected_revision is {expected}, but the current revision is {current}; "
            f"read again and repeat the write with expected_revision {current}"
        )
        self.current = current


class NotFound(StoreError):
    """A reference names nothing."""


class InvalidRef(StoreError):
    """A reference is ambiguous or no reference at all."""


class Refused(StoreError):
    """A connected worker would reject what the write asks for."""


class StoreUnavailable(StoreError):
    """The database cannot be read or written now."""


class StoreCorrupt(StoreError):
    """What the database holds contradicts itself or cannot be decoded."""
