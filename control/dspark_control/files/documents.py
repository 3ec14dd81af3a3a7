"""Policies and deployment identities as YAML, read by the YAML 1.2 core schema.

PyYAML's default rules would read `1e-6` as text, `off` as false and `010` as 8; a policy
must mean what it says.
"""

import re
from dataclasses import asdict
from enum import StrEnum
from typing import Any

import yaml

from dspark_control.core import DeploymentIdentity, SchedulingPolicy
from dspark_control.core.identity import find_identity_fault
from dspark_control.core.policy import find_policy_fault
from dspark_control.files.building import build
from dspark_control.files.faults import FileFault
from dspark_control.files.reading import decode_text


class _CoreSchemaLoader(yaml.SafeLoader):
    """PyYAML asks for a subclass to change which plain scalars are numbers."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for name in names:
            if names.count(name) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{name!r} is given twice; keep one", node.start_mark
                )
        return super().construct_mapping(node, deep)


_CoreSchemaLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"^(~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^[-+]?(0|[1-9][0-9]*)$", list("-+0123456789")),
    (
        "float",
        r"^([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$",
        list("-+0123456789."),
    ),
):
    _CoreSchemaLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _first
    )


def load_policy(data: bytes, file: str = "policy") -> SchedulingPolicy:
    """The policy in the bytes of a YAML file; FileFault otherwise."""
    return build(SchedulingPolicy, _parse(data, file), file, find_policy_fault)


def load_identity(data: bytes, file: str = "identity") -> DeploymentIdentity:
    """The deployment identity in the bytes of a YAML file; FileFault otherwise."""
    return build(DeploymentIdentity, _parse(data, file), file, find_identity_fault)


def dump_policy(policy: SchedulingPolicy) -> bytes:
    """The YAML file of `policy`, every field written out."""
    plain = {name: _plain(value) for name, value in asdict(policy).items()}
    return yaml.safe_dump(plain, sort_keys=False).encode("utf-8")


def _plain(value: object) -> object:
    return value.value if isinstance(value, StrEnum) else value


def _parse(data: bytes, file: str) -> object:
    text = decode_text(data, file)
    try:
        return yaml.load(text, Loader=_CoreSchemaLoader)
    except yaml.MarkedYAMLError as error:
        raise FileFault(file, f"is not a valid YAML document: {_one_line(error)}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        text = " ".join(str(error).split())[:200] or "nested too deeply"
        raise FileFault(file, f"is not a valid YAML document: {text}") from error


def _one_line(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{' '.join(str(error.problem).split())}{where}"
