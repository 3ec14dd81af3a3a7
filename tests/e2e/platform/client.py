"""Plain HTTP calls of SGLang's native API, without anything of ours in between."""

import json
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

LIMIT_S = 280


def post(url: str, body: Mapping[str, Any], path: str = "/generate") -> Any:
    with _open(url, body, path) as response:
        text = response.read()
    return json.loads(text) if text else None


def post_all(url: str, bodies: Sequence[Mapping[str, Any]]) -> list[Any]:
    """All at the same time."""
    with ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(lambda body: post(url, body), bodies))


def stream(url: str, body: Mapping[str, Any]) -> Iterator[Any]:
    """The events of a streamed answer."""
    with _open(url, {**body, "stream": True}, "/generate") as response:
        for line in response:
            data = line.decode().removeprefix("data:").strip()
            if data and data != "[DONE]":
                yield json.loads(data)


def _open(url: str, body: Mapping[str, Any], path: str) -> Any:
    request = urllib.request.Request(
        f"{url}{path}", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    return urllib.request.urlopen(request, timeout=LIMIT_S)
