"""The store on SQLite and PostgreSQL: compare-and-swap, refs, durability, the chain."""

import threading
from pathlib import Path

import pytest
import sqlalchemy

from dspark_control.core import (
    ArtifactKind,
    Binding,
    DeploymentIdentity,
    SchedulingPolicy,
    SpsAdditiveTable,
    SpsStepTable,
    StsTable,
    artifact_digest,
)
from dspark_control.store import (
    Conflict,
    Draft,
    InvalidRef,
    NotFound,
    Refused,
    Store,
    StoreCorrupt,
    WriteContext,
)
from dspark_control.store.database import open_engine, writing
from dspark_control.store.schema import metadata

WHO = WriteContext("alice", "because")


def expecting(revision: int) -> WriteContext:
    return WriteContext("alice", "because", expected_revision=revision)


def policy(gain: float) -> SchedulingPolicy:
    return SchedulingPolicy(min_predicted_gain=gain)


def test_contents_come_back_as_they_were(database: str) -> None:
    store = Store(database)
    identity = DeploymentIdentity(gpu="H200", graph_tiers=(1, 2))
    contents = (
        policy(1 / 3),
        StsTable((1.0, 1 / 3), "math é", 9, (0.1, 0.2), ()),
        SpsStepTable((1, 2), (1e9, 1e-9), 4),
        SpsAdditiveTable(1e-9, (0, 1), (0.0, 1 / 3), (0,), (1e6,)),
    )
    for content in contents:
        stored = store.put_artifact(WHO, Draft("x", content, identity)).artifact
        assert stored.content == content
        assert stored.measured_on == identity
        assert store.get_artifact(stored.kind, stored.digest) == stored
    assert [a.content for a in store.list_artifacts()] == list(reversed(contents))
    store.close()


def test_compare_and_swap_names_the_current_revision(database: str) -> None:
    store = Store(database)
    store.put_artifact(WHO, Draft("p", policy(0)))
    with pytest.raises(Conflict, match="current revision is 1") as caught:
        store.put_artifact(expecting(5), Draft("p", policy(1)))
    assert caught.value.current == 1
    assert store.list_bindings()[0] == 1
    assert store.put_artifact(expecting(1), Draft("p", policy(1))).artifact.revision == 2
    with pytest.raises(Conflict):
        store.delete_binding(expecting(1), "none")
    store.close()


def test_the_same_content_is_stored_once_and_a_name_can_go_back(database: str) -> None:
    store = Store(database)
    first = store.put_artifact(WHO, Draft("p", policy(0)))
    assert not store.put_artifact(WHO, Draft("p", policy(0))).is_new
    assert store.list_bindings()[0] == 1
    other = store.put_artifact(WHO, Draft("q", policy(0)))
    assert other.is_new
    assert other.artifact.digest == first.artifact.digest
    store.put_artifact(WHO, Draft("p", policy(1)))
    again = store.put_artifact(WHO, Draft("p", policy(0)))
    assert again.is_new
    assert store.get_artifact(ArtifactKind.POLICY, "p").content == policy(0)
    assert store.verify_chain() is None
    store.close()


def test_refs(database: str) -> None:
    store = Store(database)
    artifact = store.put_artifact(WHO, Draft("p", policy(0))).artifact
    for ref in ("p", artifact.digest, artifact.digest[:12], artifact.digest[7:19]):
        assert store.get_artifact(ArtifactKind.POLICY, ref).digest == artifact.digest
    with pytest.raises(InvalidRef, match="at least 12"):
        store.get_artifact(ArtifactKind.POLICY, artifact.digest[:11])
    for ref in ("q", "sha256:ffffffffffff", "sha256:%%%%%%%%%%%%", "' OR 1=1 --"):
        with pytest.raises(NotFound):
            store.get_artifact(ArtifactKind.POLICY, ref)
    with pytest.raises(NotFound):
        store.get_artifact(ArtifactKind.STS, artifact.digest)
    one, two = _policies_with_like_digests()
    store.put_artifact(WHO, Draft("one", one))
    digest = store.put_artifact(WHO, Draft("two", two)).artifact.digest
    with pytest.raises(InvalidRef, match="begins 2 digests"):
        store.get_artifact(ArtifactKind.POLICY, digest[:12])
    store.close()


def test_bindings_resolve_refs_and_are_checked_in_the_transaction(database: str) -> None:
    store = Store(database)
    p = store.put_artifact(WHO, Draft("p", policy(0))).artifact
    s = store.put_artifact(WHO, Draft("s", StsTable((1.0,)))).artifact
    stored = store.put_binding(WHO, Binding("b", {"gpu": "h200"}, "p", "s"))
    assert (stored.policy_digest, stored.sts_digest, stored.sps_digest) == (p.digest, s.digest, "")
    assert store.list_bindings() == (3, (stored,))
    with pytest.raises(NotFound):
        store.put_binding(WHO, Binding("b", {}, "p", "nope"))
    with pytest.raises(Refused, match="no"):
        store.put_binding(WHO, Binding("b", {}, "p"), lambda *_: "no")
    assert store.list_bindings() == (3, (stored,))
    assert store.delete_binding(WHO, "b") == 4
    with pytest.raises(NotFound):
        store.delete_binding(WHO, "b")
    changes = store.binding_changes(0)
    assert changes.revision == 4
    assert [(c.before, c.after) for c in changes.bindings] == [(None, stored), (stored, None)]
    assert [e.action for e in store.history()] == [
        "binding.delete",
        "binding.put",
        "artifact.put",
        "artifact.put",
    ]
    store.close()


def test_concurrent_writers_leave_no_gap(database: str) -> None:
    stores = [Store(database) for _ in range(3)]
    acknowledged: list[int] = []

    def write(index: int) -> None:
        for number in range(15):
            draft = Draft(f"n{index}", policy(index * 100 + number))
            acknowledged.append(stores[index].put_artifact(WHO, draft).artifact.revision)

    _in_threads(write, 3)
    assert sorted(acknowledged) == list(range(1, 46))
    assert stores[0].verify_chain() is None
    for store in stores:
        store.close()


def test_only_one_of_the_writers_that_saw_the_same_revision_wins(database: str) -> None:
    store = Store(database)
    store.put_artifact(WHO, Draft("p", policy(0)))
    outcomes: list[object] = []

    def write(index: int) -> None:
        try:
            draft = Draft("p", policy(index + 1))
            outcomes.append(store.put_artifact(expecting(1), draft).artifact.revision)
        except Conflict as conflict:
            outcomes.append(conflict)

    _in_threads(write, 6)
    assert [o for o in outcomes if not isinstance(o, Conflict)] == [2]
    assert len(outcomes) == 6
    assert store.list_bindings()[0] == 2
    store.close()


def test_everything_survives_a_restart(database: str) -> None:
    store = Store(database)
    store.put_artifact(WHO, Draft("p", policy(0)))
    store.put_binding(WHO, Binding("b", {"a": "b"}, "p"))
    before = (store.list_bindings(), store.history(), store.list_artifacts())
    store.close()
    again = Store(database)
    assert (again.list_bindings(), again.history(), again.list_artifacts()) == before
    assert again.verify_chain() is None
    again.close()


def test_many_connections_enter_wal_mode_of_a_new_file(tmp_path: Path) -> None:
    for turn in range(20):
        url = f"sqlite:///{tmp_path}/{turn}.db"
        modes: list[str] = []
        _in_threads(lambda _, url=url, modes=modes: modes.append(_journal_mode(url)), 4)
        assert modes == ["wal"] * 4


def _journal_mode(url: str) -> str:
    engine = open_engine(url)
    with writing(engine) as connection:
        mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
    engine.dispose()
    return str(mode)


def test_services_that_start_together_migrate_once(database: str) -> None:
    stores: list[Store] = []
    _in_threads(lambda _: stores.append(Store(database)), 4)
    assert len(stores) == 4
    assert {store.list_bindings()[0] for store in stores} == {0}
    for store in stores:
        store.close()


def test_the_migrations_make_the_schema_that_queries_expect(database: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    Store(database).close()
    engine = sqlalchemy.create_engine(database)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


@pytest.mark.parametrize("table", ["revisions", "artifacts", "versions"])
@pytest.mark.parametrize("statement", ["UPDATE {0} SET {1} = {1}", "DELETE FROM {0}"])
def test_history_cannot_be_changed(database: str, table: str, statement: str) -> None:
    store = Store(database)
    store.put_artifact(WHO, Draft("p", policy(0)))
    column = {"revisions": "author", "artifacts": "kind", "versions": "name"}[table]
    with pytest.raises(sqlalchemy.exc.DBAPIError, match="append-only"):
        _execute(database, statement.format(table, column))
    store.close()


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE revisions SET author = 'mallory' WHERE revision = 1", "does not match its hash"),
        ("UPDATE revisions SET revision = 7 WHERE revision = 3", "revision 3 is missing"),
        ("UPDATE head SET revision = 9", "head does not match"),
        ("UPDATE bindings SET sts_digest = 'x'", "bindings are not those"),
        ("DELETE FROM bindings", "bindings are not those"),
        ("DELETE FROM versions", "versions are not those"),
        (
            "UPDATE artifacts SET content_json = replace(content_json, '0.5', '0.6')",
            "does not match its digest",
        ),
        ("UPDATE artifacts SET content_json = '{'", "cannot be decoded"),
    ],
)
def test_tampering_is_found(tmp_path: object, statement: str, expected: str) -> None:
    database = f"sqlite:///{tmp_path}/x.db"
    store = Store(database)
    store.put_artifact(WHO, Draft("p", policy(0.5)))
    store.put_binding(WHO, Binding("b", {}, "p"))
    store.put_artifact(WHO, Draft("p", policy(2)))
    assert store.verify_chain() is None
    _execute(database, "PRAGMA foreign_keys=OFF", *_dropped_guards(database), statement)
    assert expected in (store.verify_chain() or "")
    store.close()


def test_a_newer_schema_is_refused(database: str) -> None:
    Store(database).close()
    _execute(database, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreCorrupt, match="newer"):
        Store(database)


@pytest.mark.parametrize("url", ["nonsense", "sqlite://", "sqlite:///:memory:", "mysql://h/x", ""])
def test_urls_that_cannot_work(url: str) -> None:
    with pytest.raises(ValueError, match="database"):
        Store(url)


def _policies_with_like_digests() -> tuple[SchedulingPolicy, SchedulingPolicy]:
    """Two policies whose digests share the 12 characters that a ref needs ("sha256:" and five)."""
    seen: dict[str, SchedulingPolicy] = {}
    for number in range(100_000):
        content = policy(number)
        prefix = artifact_digest("policy", content)[:12]
        if prefix in seen:
            return seen[prefix], content
        seen[prefix] = content
    raise AssertionError("no two digests are alike")


def _in_threads(work: object, count: int) -> None:
    threads = [threading.Thread(target=work, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _execute(database: str, *statements: str) -> None:
    engine = sqlalchemy.create_engine(database)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def _dropped_guards(database: str) -> list[str]:
    return [
        f"DROP TRIGGER {table}_no_{event}"
        for table in ("revisions", "artifacts", "versions")
        for event in ("update", "delete")
    ]
