"""The state follows from what happened, and each change is logged once."""

import logging

import pytest

from dspark_control.core import Snapshot, SnapshotDigests, default_snapshot
from dspark_sglang.agent import AgentState, Source
from dspark_sglang.agent.board import StatusBoard


@pytest.fixture
def board() -> StatusBoard:
    return StatusBoard("w", Source.FILES, AgentState.STALE)


def test_ready_when_in_step_and_stale_when_lost(board):
    board.in_step()
    assert board.status.state is AgentState.READY
    board.lost("UNAVAILABLE: connection refused", is_refused=False)
    assert board.status.state is AgentState.STALE
    assert "connection refused" in board.status.last_error
    board.in_step()
    assert (board.status.state, board.status.last_error) == (AgentState.READY, "")


def test_an_applied_snapshot_is_named_with_its_source(board):
    snapshot = Snapshot(7, default_snapshot(7).policy, policy_digest="sha256:a")
    board.applied(snapshot, Source.LAST_KNOWN_GOOD)
    status = board.status
    assert (status.state, status.source) == (AgentState.STALE, Source.LAST_KNOWN_GOOD)
    assert (status.applied_revision, status.digests) == (7, SnapshotDigests(policy="sha256:a"))


def test_a_refused_update_is_an_error_until_one_is_applied(board):
    board.in_step()
    board.rejected("revision 3 refused")
    board.in_step()
    assert board.status.state is AgentState.ERROR
    assert board.status.last_error == "revision 3 refused"
    board.lost("gone", is_refused=False)
    assert board.status.state is AgentState.ERROR
    board.applied(default_snapshot(4), Source.SERVICE)
    board.in_step()
    assert board.status.state is AgentState.READY


def test_a_service_that_refuses_the_worker_is_an_error(board):
    board.lost("PERMISSION_DENIED: no", is_refused=True)
    assert board.status.state is AgentState.ERROR
    board.lost("UNAVAILABLE: gone", is_refused=False)
    assert board.status.state is AgentState.STALE


def test_a_published_status_never_changes(board):
    before = board.status
    board.in_step()
    assert before.state is AgentState.STALE
    with pytest.raises(AttributeError):
        before.state = AgentState.READY  # type: ignore[misc]


def test_each_change_is_logged_once(board, caplog):
    with caplog.at_level(logging.INFO):
        board.in_step()
        board.in_step()
        for _ in range(50):
            board.lost("gone", is_refused=False)
        board.in_step()
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.INFO, logging.WARNING, logging.INFO]
