"""The store against a plain model, and the choice of revisions against brute force."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dspark_control.core import Binding, SchedulingPolicy, SnapshotDigests, resolve
from dspark_control.service.desired import BindingHistory, Desired
from dspark_control.store import BindingChange, Changes, Draft, NotFound, Store, WriteContext

names = st.sampled_from(["a", "b", "c"])
selectors = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2"]))
gains = st.sampled_from([0.0, 0.1, 0.2])
CONTEXT = WriteContext("property", "test")


class StoreMachine(RuleBasedStateMachine):
    """Any sequence of writes leaves gap-free revisions, an intact chain and the right bindings."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.store = Store(f"sqlite:///{Path(self.directory.name) / 'x.db'}")
        self.revision = 0
        self.newest: dict[str, float] = {}
        self.bindings: dict[str, tuple[dict[str, str], float]] = {}

    def teardown(self) -> None:
        self.store.close()
        self.directory.cleanup()

    @rule(name=names, gain=gains)
    def put(self, name: str, gain: float) -> None:
        policy = SchedulingPolicy(min_predicted_gain=gain)
        result = self.store.put_artifact(CONTEXT, Draft(name, policy))
        assert result.is_new is (self.newest.get(name) != gain)
        self.revision += result.is_new
        self.newest[name] = gain
        assert result.artifact.content == policy
        assert result.artifact.revision <= self.revision

    @precondition(lambda self: self.newest)
    @rule(data=st.data(), name=names, selector=selectors)
    def bind(self, data: st.DataObject, name: str, selector: dict[str, str]) -> None:
        policy = data.draw(st.sampled_from(sorted(self.newest)))
        stored = self.store.put_binding(CONTEXT, Binding(name, selector, policy))
        self.revision += 1
        self.bindings[name] = (selector, self.newest[policy])
        assert stored.revision == self.revision

    @rule(name=names)
    def unbind(self, name: str) -> None:
        try:
            assert self.store.delete_binding(CONTEXT, name) == self.revision + 1
            del self.bindings[name]
            self.revision += 1
        except NotFound:
            assert name not in self.bindings

    @invariant()
    def bindings_are_those_of_the_model(self) -> None:
        revision, bindings = self.store.list_bindings()
        assert revision == self.revision
        assert [b.name for b in bindings] == sorted(self.bindings)
        for binding in bindings:
            assert binding.selector == self.bindings[binding.name][0]

    @invariant()
    def the_chain_is_whole(self) -> None:
        assert self.store.verify_chain() is None
        entries = self.store.history_after(0, 1000)
        assert [entry.revision for entry in entries] == list(range(1, self.revision + 1))


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(max_examples=12, stateful_step_count=15, deadline=None)

pairs_of_names = st.lists(st.tuples(names, selectors), unique_by=lambda pair: pair[0])
changes = st.lists(st.tuples(names, st.none() | st.tuples(selectors, gains)), max_size=12)


@settings(max_examples=100, deadline=None)
@given(changes, selectors)
def test_a_workers_revision_is_that_of_the_last_real_change(
    writes: list[tuple[str, tuple[dict[str, str], float] | None]], labels: dict[str, str]
) -> None:
    state: dict[str, Binding] = {}
    log = []
    expected = Desired("", SnapshotDigests(), 0)
    for revision, (name, content) in enumerate(writes, start=1):
        before = state.pop(name, None)
        if content is not None:
            state[name] = Binding(name, content[0], str(content[1]), revision=revision)
        log.append(BindingChange(revision, name, before, state.get(name)))
        serving = resolve(state.values(), labels)
        digests = serving.digests if serving else SnapshotDigests()
        is_change = digests != expected.digests
        at = revision if is_change else expected.revision
        expected = Desired(serving.name if serving else "", digests, at)
    at_once, one_by_one = BindingHistory(), BindingHistory()
    at_once.extend(Changes(len(log), tuple(log)))
    for change in log:
        one_by_one.extend(Changes(change.revision, (change,)))
        one_by_one.serving(labels)
    assert at_once.serving(labels) == expected
    assert one_by_one.serving(labels) == expected


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(names, selectors), unique_by=lambda pair: pair[0]), selectors, st.randoms()
)
def test_resolving_does_not_depend_on_order(
    pairs: list[tuple[str, dict[str, str]]], labels: dict[str, str], random: object
) -> None:
    bindings = [Binding(name, selector) for name, selector in pairs]
    chosen = resolve(bindings, labels)
    random.shuffle(bindings)  # type: ignore[attr-defined]
    assert resolve(bindings, labels) is chosen
    matching = [b for b in bindings if b.selector.items() <= labels.items()]
    assert (chosen is None) is (not matching)
    for other in matching:
        assert chosen is not None
        assert (-len(chosen.selector), chosen.name) <= (-len(other.selector), other.name)
