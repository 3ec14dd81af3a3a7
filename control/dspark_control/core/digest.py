"""Content addresses: equal artifacts have equal digests, whoever computes them."""

import hashlib
import json
from dataclasses import asdict, is_dataclass
from enum import StrEnum

from dspark_control.core.identity import DeploymentIdentity
from dspark_control.core.policy import SchedulingPolicy
from dspark_control.core.tables import SpsAdditiveTable, SpsStepTable, StsTable

Content = SchedulingPolicy | StsTable | SpsStepTable | SpsAdditiveTable
"""What an artifact may hold."""

DIGEST_PREFIX = "sha256:"
"""Every digest starts with it."""

_FLOAT_FIELDS = frozenset(
    (
        "min_predicted_gain",
        "survival_floor",
        "fixed_fraction",
        "temperatures",
        "ece_before",
        "ece_after",
        "sample_steps_per_sec",
        "bias_seconds",
        "alpha_seconds",
        "theta_seconds",
    )
)


class ArtifactKind(StrEnum):
    """What an artifact holds."""

    POLICY = "policy"
    STS = "sts"
    SPS = "sps"


def kind_of(content: Content) -> ArtifactKind:
    """The kind that goes with the type of `content`."""
    if isinstance(content, SchedulingPolicy):
        return ArtifactKind.POLICY
    return ArtifactKind.STS if isinstance(content, StsTable) else ArtifactKind.SPS


def artifact_digest(
    kind: str, content: Content, measured_on: DeploymentIdentity | None = None
) -> str:
    """The digest, "sha256:" and 64 hex digits, over kind, content and identity.

    An identity in which nothing is set matches every worker, as None does, and has its digest.
    """
    document = {
        "kind": str(kind),
        "form": type(content).__name__,
        "content": plain_content(content),
        "measured_on": plain_identity(measured_on),
    }
    return DIGEST_PREFIX + hashlib.sha256(canonical_json(document).encode()).hexdigest()


def canonical_json(document: object) -> str:
    """The one JSON text of `document`: sorted keys, no spaces, ASCII, no NaN."""
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def plain_content(content: Content) -> dict[str, object]:
    """`content` as JSON values, equal for contents that compare equal (1 and 1.0, 0.0 and -0.0)."""
    if not is_dataclass(content):
        raise TypeError(f"an artifact cannot hold a {type(content).__name__}")
    return {name: _plain(name, value) for name, value in asdict(content).items()}


def plain_identity(identity: DeploymentIdentity | None) -> dict[str, object]:
    """The known fields of `identity`."""
    return {name: value for name, value in asdict(identity).items() if value} if identity else {}


def _plain(name: str, value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(name, item) for item in value]
    if name in _FLOAT_FIELDS and isinstance(value, int | float):
        return float(value) + 0.0  # turns -0.0 into 0.0
    return value.value if isinstance(value, StrEnum) else value
