"""Whatever is valid survives every form: core, message, bytes, file, digest."""

import json
from dataclasses import asdict

from hypothesis import given, settings
from hypothesis import strategies as st

from dspark.control.v1 import worker_pb2
from dspark_control.codec import has_unknown_fields, snapshot_from_proto, snapshot_to_proto
from dspark_control.core import (
    BudgetMode,
    BudgetSearch,
    Capabilities,
    DeploymentIdentity,
    SchedulingPolicy,
    Snapshot,
    SpsAdditiveTable,
    SpsStepTable,
    StsTable,
    artifact_digest,
    identity_differences,
    incompatibility,
    kind_of,
    policy_fault,
    sps_fault,
    sts_fault,
)
from dspark_control.files import (
    FileFault,
    dump_policy,
    dump_sps,
    dump_sts,
    load_identity,
    load_policy,
    load_sps,
    load_sts,
)

FEW = settings(max_examples=60, deadline=None)
LINE = st.text(st.characters(categories=("L", "N", "P")), max_size=20)
FRACTION = st.floats(0, 1)


def probes(low: int) -> st.SearchStrategy[tuple[int, ...]]:
    numbers = st.sets(st.integers(low, 2**31 - 1), min_size=1, max_size=20)
    return numbers.map(sorted).map(tuple)


@st.composite
def policies(draw: st.DrawFn) -> SchedulingPolicy:
    low = draw(st.integers(1, 65))
    mode, search = draw(st.sampled_from(BudgetMode)), draw(st.sampled_from(BudgetSearch))
    is_bounded, is_global = mode is not BudgetMode.VERIFY_ALL, search is BudgetSearch.GLOBAL
    return SchedulingPolicy(
        mode=mode,
        search=search,
        min_verify_length=low,
        max_verify_length=draw(st.just(0) | st.integers(low, 65)) if is_bounded else 0,
        min_predicted_gain=draw(st.floats(0, 1e6)) if is_global else 0.0,
        survival_floor=draw(FRACTION),
        verify_all_below_requests=draw(st.integers(0, 2**31 - 1)),
        fixed_fraction=draw(FRACTION),
    )


@st.composite
def sts_tables(draw: st.DrawFn) -> StsTable:
    gamma = draw(st.integers(1, 64))
    eces = st.just(()) | st.tuples(*[FRACTION] * gamma)
    return StsTable(
        temperatures=draw(st.tuples(*[st.floats(1e-3, 1e3)] * gamma)),
        dataset=draw(LINE),
        num_samples=draw(st.integers(0, 2**63 - 1)),
        ece_before=draw(eces),
        ece_after=draw(eces),
    )


@st.composite
def step_tables(draw: st.DrawFn) -> SpsStepTable:
    tokens = draw(probes(1))
    rates = draw(st.tuples(*[st.floats(1e-9, 1e9)] * len(tokens)))
    return SpsStepTable(tokens, rates, draw(st.integers(tokens[-1], 2**31 - 1)))


@st.composite
def additive_tables(draw: st.DrawFn) -> SpsAdditiveTable:
    requests, tokens = draw(probes(0)), draw(probes(0))
    seconds = st.floats(0, 1e6)
    return SpsAdditiveTable(
        draw(st.floats(1e-9, 1e6)),
        requests,
        draw(st.tuples(*[seconds] * len(requests))),
        tokens,
        draw(st.tuples(*[seconds] * len(tokens))),
    )


sps_tables = step_tables() | additive_tables()
size = st.integers(0, 2**31 - 1)
identities = st.builds(
    DeploymentIdentity,
    target_digest=LINE,
    draft_digest=LINE,
    gamma=st.integers(0, 64),
    gpu=LINE,
    tp_size=size,
    dp_size=size,
    pp_size=size,
    dtype=LINE,
    attention_backend=LINE,
    engine_version=LINE,
    graph_tiers=st.just(()) | probes(1),
)
snapshots = st.builds(
    Snapshot,
    revision=st.integers(0, 2**63),
    policy=policies(),
    sts=st.none() | sts_tables(),
    sps=st.none() | sps_tables,
    binding=LINE,
    cohort=LINE,
    policy_digest=LINE,
    sts_digest=LINE,
    sps_digest=LINE,
    sts_measured_on=st.none() | identities,
    sps_measured_on=st.none() | identities,
)


@FEW
@given(snapshots)
def test_snapshots_survive_the_wire(snapshot: Snapshot) -> None:
    data = snapshot_to_proto(snapshot).SerializeToString()
    message = worker_pb2.Snapshot.FromString(data)
    assert not has_unknown_fields(message)
    assert snapshot_from_proto(message) == snapshot


@FEW
@given(policies(), sts_tables(), sps_tables, identities)
def test_valid_contents_survive_their_files(
    policy: SchedulingPolicy,
    sts: StsTable,
    sps: SpsStepTable | SpsAdditiveTable,
    identity: DeploymentIdentity,
) -> None:
    assert policy_fault(policy) is None
    assert sts_fault(sts, gamma=len(sts.temperatures)) is None
    assert sps_fault(sps) is None
    assert load_policy(dump_policy(policy)) == policy
    assert load_sts(dump_sts(sts)) == sts
    assert load_sps(dump_sps(sps)) == sps
    document = json.dumps(asdict(identity), ensure_ascii=False)  # JSON is YAML
    assert load_identity(document.encode()) == identity


@FEW
@given(policies() | sts_tables() | sps_tables, st.none() | identities)
def test_digests_follow_content_through_every_form(
    content: SchedulingPolicy | StsTable | SpsStepTable | SpsAdditiveTable,
    identity: DeploymentIdentity | None,
) -> None:
    digest = artifact_digest(kind_of(content), content, identity)
    assert len(digest) == len("sha256:") + 64
    if isinstance(content, SchedulingPolicy):
        copy = load_policy(dump_policy(content))
    elif isinstance(content, StsTable):
        copy = load_sts(dump_sts(content))
    else:
        copy = load_sps(dump_sps(content))
    assert artifact_digest(kind_of(copy), copy, identity) == digest
    other = DeploymentIdentity(gpu="another one entirely, with a long name")
    assert artifact_digest(kind_of(copy), copy, other) != digest


@FEW
@given(identities)
def test_an_identity_never_differs_from_itself(identity: DeploymentIdentity) -> None:
    assert identity_differences(identity, identity) == ()
    assert identity_differences(DeploymentIdentity(), identity) == ()
    assert identity_differences(identity, DeploymentIdentity()) == ()


@FEW
@given(snapshots, identities, st.booleans(), st.booleans())
def test_compatibility_gives_an_answer_for_everything(
    snapshot: Snapshot, identity: DeploymentIdentity, ragged: bool, head: bool
) -> None:
    rejection = incompatibility(snapshot, identity, Capabilities(ragged, head, ""))
    assert rejection is None or (rejection.message and rejection.fields)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
keys = st.sampled_from(
    ("temperatures", "num_samples", "bias_seconds", "sample_batch_tokens", "mode", "gamma", "x")
)


@FEW
@given(st.binary(max_size=60) | st.dictionaries(keys, json_values).map(json.dumps).map(str.encode))
def test_loaders_load_or_fault_in_one_line_and_nothing_else(data: bytes) -> None:
    for load in (load_policy, load_sts, load_sps, load_identity):
        try:
            load(data)
        except FileFault as fault:
            assert "\n" not in str(fault)  # noqa: PT017 - most inputs fault
