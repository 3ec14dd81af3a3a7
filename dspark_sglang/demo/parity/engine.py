"""Runs a draft on a real SGLang server and collects what it answered, with the rounds."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from dspark_sglang.demo.client import complete
from dspark_sglang.demo.model import Models
from dspark_sglang.demo.parity.answered import Ids, Request, made_request
from dspark_sglang.demo.parity.recorder import plugin_environ
from dspark_sglang.demo.parity.rounds import read_rounds
from dspark_sglang.demo.processes import Say
from dspark_sglang.demo.servers import EngineOptions, engine


@dataclass(frozen=True)
class Load:
    """The same requests for every draft."""

    prompts: Sequence[Ids]
    tokens: int
    batches: Sequence[int]
    """Requests at a time, one pass over all prompts for each."""
    mode: str
    """`SGLANG_RAGGED_VERIFY_MODE`; static runs no confidence head."""


def answered(
    head: str, models: Models, load: Load, folder: Path, say: Say
) -> dict[int, list[Request]]:
    """The answered requests of one draft by batch size, all from one server."""
    rounds_file = folder / f"rounds-{head}.jsonl"
    options = EngineOptions(
        f"parity-{head}",
        models,
        mode=load.mode,
        max_requests=max(load.batches),
        environ=plugin_environ(folder / "plugin", rounds_file),
    )
    with engine(options, folder) as server:
        server.wait_ready(say)
        outputs = {batch: _outputs(server.url, load, batch, say) for batch in load.batches}
    rounds = read_rounds(rounds_file)
    return {
        batch: [
            made_request(name, prompt, output, rounds.get(name, []))
            for prompt, (name, output) in zip(load.prompts, named.items(), strict=True)
        ]
        for batch, named in outputs.items()
    }


def _outputs(url: str, load: Load, batch: int, say: Say) -> dict[str, Ids]:
    """The output of every prompt by the name of its request, `batch` at a time."""
    names = [f"batch-{batch}-prompt-{number}" for number in range(len(load.prompts))]

    def answer(name: str, prompt: Ids) -> Ids:
        return complete(url, prompt, load.tokens, name)

    with ThreadPoolExecutor(batch) as pool:
        outputs = list(pool.map(answer, names, load.prompts))
    say(f"batch {batch}: {len(names)} prompts answered")
    return dict(zip(names, outputs, strict=True))
