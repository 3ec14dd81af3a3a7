"""What goes to stdout: a readable table, or JSON or YAML for programs."""

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import yaml
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 240
"""Columns of a table when stdout is no terminal, so that nothing is cut."""


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def print_document(document: Any, form: Format) -> None:
    """Print plain values as JSON or YAML."""
    if form is Format.JSON:
        print(json.dumps(document, indent=2, allow_nan=False))
    else:
        print(yaml.safe_dump(document, sort_keys=False), end="")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; control characters from elsewhere are not passed to the terminal."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(clean(cell)) for cell in row))
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(file=sys.stdout, width=width, highlight=False).print(table)


def clean(text: str) -> str:
    """`text` on one line, without control characters."""
    return "".join(char if char.isprintable() else " " for char in text)


def short_digest(digest: str) -> str:
    """The first 12 hex digits, which a ref may be; "-" for none."""
    return digest[: len("sha256:") + 12] or "-"
