"""What the agent knows, in SGLang's own answer to `GET /server_info`.

So that whoever looks after one server sees what it runs, and why, without the control
service.
"""

from typing import Any


def add_status(result: Any, scheduler: Any, _request: Any) -> Any:
    """After `Scheduler.get_internal_state`: add the agent's status where there is an agent."""
    agent = getattr(scheduler, "dspark_agent", None)
    if agent is not None:
        result.internal_state["dspark"] = agent.status.to_plain()
    return result
