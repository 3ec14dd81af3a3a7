"""The agent's status in SGLang's own message."""

from types import SimpleNamespace

import msgspec
from sglang.srt.managers.io_struct import GetInternalStateReqOutput

from dspark_control.core import SnapshotDigests
from dspark_sglang.agent import AgentState, AgentStatus, Source
from dspark_sglang.worker.server_info import add_status

STATUS = AgentStatus(AgentState.STALE, Source.SERVICE, 5, SnapshotDigests("p"), "no route")


def test_the_status_of_the_agent_is_added_in_types_that_travel():
    scheduler = SimpleNamespace(dspark_agent=SimpleNamespace(status=STATUS))
    result = add_status(GetInternalStateReqOutput(internal_state={"a": 1}), scheduler, None)
    added = msgspec.msgpack.decode(msgspec.msgpack.encode(result.internal_state))
    assert added == {
        "a": 1,
        "dspark": {
            "state": "stale",
            "source": "service",
            "applied_revision": 5,
            "digests": {"policy": "p", "sts": "", "sps": ""},
            "last_error": "no route",
        },
    }


def test_a_rank_without_an_agent_answers_as_before():
    result = GetInternalStateReqOutput(internal_state={"a": 1})
    assert add_status(result, SimpleNamespace(), None).internal_state == {"a": 1}
