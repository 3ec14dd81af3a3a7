"""Reads the settings once: defaults, then the YAML file, then the environment.

Whatever is not understood is refused, because a misspelt setting that is silently
ignored is found only when it was needed.
"""

import dataclasses
import os
import re
import socket
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from dspark_control.core.checks import shown
from dspark_sglang.settings.convert import CONVERTERS
from dspark_sglang.settings.model import (
    Settings,
    SettingsError,
    default_state_dir,
    wrong_settings,
)
from dspark_sglang.settings.yaml_file import YamlFileError, read_yaml

PREFIX = "DSPARK_"
CONFIG_VARIABLE = "DSPARK_CONFIG"
NOT_SETTINGS = frozenset({CONFIG_VARIABLE, "DSPARK_CACHE"})
"""Variables of ours that are no setting: the file's name, and the developers' cache."""
SERVICE_LINK = re.compile(
    r"DSPARK_(.+_)?(SERVICE_(HOST|PORT)(_[^=]+)?=|PORT(_\d+_(TCP|UDP|SCTP)(_[A-Z]+)?=|=\w+://)).*"
)
"""Name and value of what Kubernetes sets in each pod beside a service named dspark-something."""

FIELDS = {field.name: field for field in dataclasses.fields(Settings)}


class Given(NamedTuple):
    """A raw value and where it came from, for messages."""

    value: object
    source: str


def default_worker_id(port: int) -> str:
    """The id of an engine that listens on this port, when none is set."""
    return f"{socket.gethostname()}:{port}"


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process.

    `environ` is by default that of the process. Raises SettingsError, which names
    every fault at once.
    """
    environ = os.environ if environ is None else environ
    faults: list[str] = []
    given = _from_file(environ.get(CONFIG_VARIABLE, ""), faults) | _from_environ(environ, faults)
    values = {"state_dir": default_state_dir(environ)} | _converted(given, faults)
    settings = Settings(**values)  # type: ignore[arg-type]
    if not faults:
        faults = [f"{_source(name, given)}: {reason}" for name, reason in wrong_settings(settings)]
    if faults:
        raise SettingsError("; ".join(faults))
    return settings


def _converted(given: Mapping[str, Given], faults: list[str]) -> dict[str, object]:
    """The values in the types of their fields; those that have none become faults."""
    values: dict[str, object] = {}
    for name, (value, source) in given.items():
        try:
            values[name] = CONVERTERS[FIELDS[name].type](value)
        except ValueError as error:
            faults.append(f"{source}: {shown(value)} is not valid: {error}")
    return values


def _source(name: str, given: Mapping[str, Given]) -> str:
    return given[name].source if name in given else f"{name} (its default)"


def _from_environ(environ: Mapping[str, str], faults: list[str]) -> dict[str, Given]:
    """What the `DSPARK_*` variables say; an empty one counts as not set."""
    given: dict[str, Given] = {}
    for variable in sorted(environ):
        name = variable.removeprefix(PREFIX).lower()
        if not variable.startswith(PREFIX) or variable in NOT_SETTINGS:
            continue
        if variable == _variable(name) and name in FIELDS:
            if environ[variable].strip():
                given[name] = Given(environ[variable], variable)
        elif not SERVICE_LINK.fullmatch(f"{variable}={environ[variable]}"):
            faults.append(f"{variable} is unknown{_nearest(name, [*FIELDS, 'config'], _variable)}")
    return given


def _from_file(name: str, faults: list[str]) -> dict[str, Given]:
    """What the YAML file says; a null counts as not set."""
    if not name.strip():
        return {}
    try:
        content = read_yaml(Path(name.strip()).expanduser())
    except YamlFileError as error:
        faults.append(f"{CONFIG_VARIABLE}: {error}")
        return {}
    given: dict[str, Given] = {}
    for key, value in content.items():
        if key not in FIELDS:
            faults.append(f"{name}: key {key!r} is unknown{_nearest(str(key), FIELDS)}")
        elif value is not None:
            given[str(key)] = Given(value, f"{name}: {key}")
    return given


def _nearest(name: str, known: Iterable[str], spell: Callable[[str], str] = str) -> str:
    """A remedy for an unknown name: the nearest valid one, else all of them."""
    known = list(known)
    close = get_close_matches(name, known, n=1)
    if close:
        return f": did you mean {spell(close[0])}?"
    return f": use one of {', '.join(map(spell, known))}"


def _variable(name: str) -> str:
    return PREFIX + name.upper()
