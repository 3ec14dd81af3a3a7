"""Digests, names, labels and the choice of a binding."""

import pytest

from dspark_control.core import (
    Binding,
    DeploymentIdentity,
    SchedulingPolicy,
    SpsAdditiveTable,
    SpsStepTable,
    StsTable,
    artifact_digest,
    kind_of,
    resolve,
    would_serve,
)
from dspark_control.core.names import labels_fault, name_fault, text_fault


def test_digest_is_pinned() -> None:
    """A change of the canonical form would orphan every stored artifact."""
    assert artifact_digest("policy", SchedulingPolicy()) == (
        "sha256:10f2107d4500e820723ca1c8d51f9d8e00e56773272a75b291c2fd4437586fcf"
    )


def test_equal_contents_have_equal_digests() -> None:
    assert artifact_digest("sts", StsTable((1,))) == artifact_digest("sts", StsTable((1.0,)))
    zero = SchedulingPolicy(survival_floor=0.0)
    assert artifact_digest("policy", zero) == artifact_digest(
        "policy", SchedulingPolicy(survival_floor=-0.0)
    )
    table = StsTable((1.0,))
    assert artifact_digest("sts", table) == artifact_digest("sts", table, DeploymentIdentity())


def test_kind_content_form_and_identity_all_count() -> None:
    step = SpsStepTable((1,), (1.0,), 1)
    additive = SpsAdditiveTable(1.0, (1,), (1.0,), (1,), (1.0,))
    digests = {
        artifact_digest("sts", StsTable((1.0,))),
        artifact_digest("sts", StsTable((1.1,))),
        artifact_digest("sts", StsTable((1.0,)), DeploymentIdentity(gpu="H200")),
        artifact_digest("sps", step),
        artifact_digest("sps", additive),
    }
    assert len(digests) == 5
    assert [kind_of(c).value for c in (SchedulingPolicy(), StsTable((1.0,)), step, additive)] == [
        "policy",
        "sts",
        "sps",
        "sps",
    ]


def test_most_labels_win_then_the_name() -> None:
    everywhere = Binding("z-default")
    by_gpu = Binding("m", {"gpu": "h200"})
    also_gpu = Binding("a", {"gpu": "h200"})
    both = Binding("zz", {"gpu": "h200", "model": "qwen"})
    bindings = [everywhere, by_gpu, also_gpu, both]
    assert resolve(bindings, {"gpu": "h200", "model": "qwen"}) is both
    assert resolve(bindings, {"gpu": "h200"}) is also_gpu
    assert resolve(bindings, {}) is everywhere
    assert resolve([by_gpu], {"gpu": "b200"}) is None
    assert would_serve(Binding("a"), bindings, {})
    assert not would_serve(Binding("zzz"), bindings, {})


@pytest.mark.parametrize("name", ["a", "h200-tp8", "v1.2_x", "0", "a" * 63])
def test_good_names(name: str) -> None:
    assert name_fault("name", name) is None


@pytest.mark.parametrize("name", ["", "A", "-a", ".a", "a b", "a" * 64, "ä", "a\n", "sha256:00"])
def test_bad_names(name: str) -> None:
    fault = name_fault("name", name)
    assert fault is not None
    assert "\n" not in fault


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "a\x1b", "x" * 11])
def test_bad_texts(text: str) -> None:
    assert text_fault("author", text, 10) is not None


@pytest.mark.parametrize(
    "labels",
    [{"": "x"}, {"a b": "x"}, {"a": "x\n"}, {"a": "y" * 129}, {str(i): "" for i in range(33)}],
)
def test_bad_labels(labels: dict[str, str]) -> None:
    assert labels_fault("labels", labels) is not None


def test_good_labels() -> None:
    labels = {"gpu": "NVIDIA H200", "app.example/x": "", "model": "Qwen/Qwen3-4B@main"}
    assert labels_fault("labels", labels) is None
