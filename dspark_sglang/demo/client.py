"""What the demonstration asks of an SGLang server: chat answers with their token ids, over HTTP."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment

TIMEOUT_S = 300


@dataclass(frozen=True)
class Answer:
    """A finished request, as the server reported it."""

    token_ids: tuple[int, ...]
    text: str
    finish_reason: str
    seconds: float
    """Seen from the client, from sending to the last byte."""
    rounds: int
    """Verify steps; 0 from a server without speculation."""
    accept_length: float
    """Tokens committed a step, the bonus token included; 0 without speculation."""
    verified_per_step: float
    """Tokens sent to the target a step, the anchor included; 0 without speculation."""
    top_logprobs: tuple[Any, ...] = ()
    """For each token the best candidates as [logprob, token id, text], when asked for."""
    prompt_tokens: int = 0
    accepted_histogram: tuple[int, ...] = ()
    """Rounds that accepted 0, 1, ... draft tokens; empty without speculation."""


class Chat:
    """Renders chats with the model's own template."""

    def __init__(self, model: Path) -> None:
        source = (model / "chat_template.jinja").read_text()
        self._template = Environment().from_string(source)

    def render(self, message: str) -> str:
        """The text of a chat in which the user said `message` and the assistant is to answer."""
        messages = [{"role": "user", "content": message}]
        return self._template.render(messages=messages, add_generation_prompt=True)


def is_healthy(url: str) -> bool:
    """Whether the server answers a request that passes through the model."""
    try:
        with urllib.request.urlopen(f"{url}/health_generate", timeout=30) as response:
            return bool(response.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def generate(  # noqa: PLR0913  (each is an option of the request)
    url: str,
    text: str,
    max_tokens: int,
    *,
    top_logprobs: int = 0,
    traceparent: str = "",
    ignore_eos: bool = False,
    temperature: float = 0.0,
) -> Answer:
    """One completion, greedy by default. Raises OSError when the server fails the request.

    With `ignore_eos` it has exactly `max_tokens` tokens.
    """
    sampling: dict[str, Any] = {"max_new_tokens": max_tokens, "temperature": temperature}
    sampling["ignore_eos"] = ignore_eos
    body: dict[str, Any] = {"text": text, "sampling_params": sampling}
    if top_logprobs:
        body |= {"return_logprob": True, "top_logprobs_num": top_logprobs}
    headers = {"traceparent": traceparent} if traceparent else {}
    started = time.perf_counter()
    reply = _post(f"{url}/generate", body, headers)
    return parse_answer(reply, time.perf_counter() - started)


def complete(url: str, ids: Sequence[int], max_tokens: int, name: str) -> tuple[int, ...]:
    """The `max_tokens` greedy tokens after token `ids`, as the request called `name`."""
    sampling = {"max_new_tokens": max_tokens, "temperature": 0.0, "ignore_eos": True}
    body = {"input_ids": list(ids), "rid": name, "sampling_params": sampling}
    return parse_answer(_post(f"{url}/generate", body, {}), 0.0).token_ids


def generate_all(
    url: str, texts: Sequence[str], max_tokens: int, concurrency: int, *, top_logprobs: int = 0
) -> list[Answer]:
    """Greedy completions of all texts, `concurrency` at a time, in the order of the texts."""

    def answer(text: str) -> Answer:
        return generate(url, text, max_tokens, top_logprobs=top_logprobs)

    with ThreadPoolExecutor(concurrency) as pool:
        return list(pool.map(answer, texts))


def parse_answer(reply: dict[str, Any], seconds: float) -> Answer:
    """An Answer from SGLang's reply (`meta_info` of its native API)."""
    meta = reply["meta_info"]
    rounds = int(meta.get("spec_verify_ct", 0))
    whole_block = meta["spec_num_proposed_drafts"] / rounds + 1 if rounds else 0.0
    return Answer(
        token_ids=tuple(reply["output_ids"]),
        text=reply["text"],
        finish_reason=str((meta.get("finish_reason") or {}).get("type", "")),
        seconds=seconds,
        rounds=rounds,
        accept_length=1 + meta.get("spec_num_correct_drafts", 0) / rounds if rounds else 0.0,
        verified_per_step=float(meta.get("spec_cap_length", whole_block)),
        prompt_tokens=int(meta.get("prompt_tokens", 0)),
        accepted_histogram=tuple(meta.get("spec_correct_drafts_histogram") or ()),
        top_logprobs=tuple(meta.get("output_top_logprobs") or ()),
    )


def server_info(url: str) -> dict[str, Any]:
    """The settled arguments of a server and the state of its scheduler."""
    with urllib.request.urlopen(f"{url}/server_info", timeout=30) as response:
        info: dict[str, Any] = json.load(response)
    return info


def _post(url: str, body: dict[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
    data = json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(url, data, sent)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        reply: dict[str, Any] = json.load(response)
    return reply


def mean(values: Sequence[float]) -> float:
    """The mean, 0.0 of nothing."""
    return sum(values) / len(values) if values else 0.0
