"""Strict loaders and writers of the files that operators hand in."""

from dspark_control.files.documents import (
    dump_policy,
    load_identity,
    load_policy,
)
from dspark_control.files.faults import FileFault
from dspark_control.files.reading import MAX_BYTES, decode_text, read_limited
from dspark_control.files.tables import dump_sps, dump_sts, load_sps, load_sts

__all__ = [
    "MAX_BYTES",
    "FileFault",
    "decode_text",
    "dump_policy",
    "dump_sps",
    "dump_sts",
    "load_identity",
    "load_policy",
    "load_sps",
    "load_sts",
    "read_limited",
]
