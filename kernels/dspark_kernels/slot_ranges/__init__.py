"""Reading and writing a run of KV slots of each request in the request-to-token table."""

from dspark_kernels.slot_ranges.reference import read_slots, write_slots

__all__ = ["read_slots", "write_slots"]
