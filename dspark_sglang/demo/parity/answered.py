"""A request that the engine has answered, with the rounds that made the answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from dspark_sglang.demo.parity.rounds import EngineRound

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Request:
    """Token ids in and out, and the rounds."""

    name: str
    prompt: Ids
    output: Ids
    rounds: list[EngineRound]
    """Without those past the last token of the output."""

    def before(self, position: int) -> Ids:
        """The sequence up to `position`."""
        return (*self.prompt, *self.output)[:position]

    def rest(self, position: int) -> tuple[Ids, int]:
        """The sequence up to `position` and the number of tokens that then follow."""
        return self.before(position), len(self.prompt) + len(self.output) - position


def made_request(name: str, prompt: Ids, output: Ids, rounds: Sequence[EngineRound]) -> Request:
    """A request; ValueError when the recorded rounds do not make up its output."""
    tokens = list[int]()
    own = list[EngineRound]()
    for each in rounds:
        if tokens and len(tokens) >= len(output):
            break
        tokens = tokens or [each.anchor]
        if (each.position, each.anchor) != (len(prompt) + len(tokens) - 1, tokens[-1]):
            raise ValueError(f"{name}: round {len(own)} does not follow the one before")
        tokens += [*each.drafts[: each.accepted], each.bonus]
        own.append(each)
    if tuple(tokens[: len(output)]) != output:
        raise ValueError(f"{name}: the recorded rounds do not make up the output")
    return Request(name, prompt, output, own)
