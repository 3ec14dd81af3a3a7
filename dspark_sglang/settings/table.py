"""The settings as rows, so that the README's table is tested against the code."""

import ast
import dataclasses
import inspect
from typing import NamedTuple

from dspark_sglang.settings.load import PREFIX
from dspark_sglang.settings.model import Settings


class SettingRow(NamedTuple):
    """One setting as people read it."""

    name: str
    """Key in the YAML file."""
    variable: str
    """Environment variable."""
    default: str
    """Default in words."""
    meaning: str
    """What it does."""


DEFAULTS_IN_WORDS = {
    "worker_id": "host:port of the engine",
    "state_dir": "$XDG_STATE_HOME/dspark-sglang, else ~/.local/state/dspark-sglang",
}
"""Defaults that depend on the machine, which a table must not show."""


def settings_table() -> list[SettingRow]:
    """One row for each field of `Settings`, in their order."""
    meanings = _attribute_docstrings()
    defaults = Settings()
    return [
        SettingRow(
            field.name,
            PREFIX + field.name.upper(),
            DEFAULTS_IN_WORDS.get(field.name) or _in_words(getattr(defaults, field.name)),
            meanings[field.name],
        )
        for field in dataclasses.fields(Settings)
    ]


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value or "none")


def _attribute_docstrings() -> dict[str, str]:
    """The string below each field of `Settings`; Python keeps them only in the source."""
    (definition,) = ast.parse(inspect.getsource(Settings)).body
    assert isinstance(definition, ast.ClassDef)
    meanings = {}
    for statement, below in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(below, ast.Expr):
            assert isinstance(statement.target, ast.Name)
            meanings[statement.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return meanings
