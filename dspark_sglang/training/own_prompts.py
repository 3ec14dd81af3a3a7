"""Training prompts of our own: templates and small programming tasks, drawn from own_prompts.yaml.

None is taken from a benchmark; only the wording around the questions is the one met in use.
The expressions of that file, which is part of the program, are evaluated as Python.
"""

import argparse
import json
import random
import re
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from dspark_sglang.training.prompts import Prompt

DOMAINS = ("math", "code", "chat")
BOXED = "\nPlease reason step by step, and put your final answer within \\boxed{}."
TYPING = ("List", "Dict", "Tuple", "Optional", "Any")
FIELD = re.compile(r"\{(\w+)\}")
PATIENCE = 2000
"""Draws in a row without a new prompt, after which a domain is taken to be exhausted."""


class Task(NamedTuple):
    """A function to be written, with calls of it and what they return."""

    name: str
    parameters: str
    returns: str
    sentences: list[str]
    calls: list[tuple[list[Any], Any]]


@cache
def _data() -> Any:
    path = Path(__file__).with_suffix(".yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _numbers(lets: str, rng: random.Random) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for let in lets.split():
        key, spec = let.split("=")
        if bounds := re.fullmatch(r"(\d+)\.\.(\d+)(?:/(\d+))?", spec):
            low, high, step = (int(bound or 1) for bound in bounds.groups())
            values[key] = rng.randrange(low, high + 1, step)
        elif "," in spec:
            values[key] = int(rng.choice(spec.split(",")))
        else:
            values[key] = eval(spec, {}, values)
    return values


def _filled(template: str, words: dict[str, list[str]], rng: random.Random) -> str:
    lets, _, text = template.rpartition(" | ")
    values = _numbers(lets, rng)
    left: dict[str, list[str]] = {}

    def value(field: re.Match[str]) -> str:
        key = field[1]
        if key not in values:
            kind = re.sub(r"_\d+$", "", key)
            rest = left.setdefault(kind, rng.sample(words[kind], len(words[kind])))
            values[key] = rest.pop()
        return str(values[key])

    filled = FIELD.sub(value, text)
    return filled[0].upper() + filled[1:]


def _drawn(domain: str, rng: random.Random) -> Iterator[str]:
    section = _data()[domain]
    templates = list(section["templates"])
    while True:
        rng.shuffle(templates)
        for template in templates:
            yield _filled(template, section["words"], rng)


def _framed(family: dict[str, Any], phrase: str, noun: str, kind: str, rng: random.Random) -> str:
    group = "check" if phrase.startswith("whether ") else "value"
    frame: str = rng.choice(_data()["code"][kind][group])
    if kind == "liners":
        noun += f" {family['liner']}"
    elif "{what}" not in frame:
        noun += f" {rng.choice(family['where'])}"
    filled = phrase.format(c=noun)
    statement = filled.removeprefix("whether ")
    name = family["parameter"].split(":")[0]
    return frame.format(p=filled, s=statement, what=family["what"], it=name)


def _family_task(
    family: dict[str, Any], operation: list[str], condition: list[str], rng: random.Random
) -> Task:
    name, phrase, returns, expression, *extra = operation
    noun, test, *short = condition
    calls = []
    for sample in rng.sample(family["samples"], 3):
        scope = {"v": sample, "test": eval(f"lambda x: {test}")}
        scope["kept"] = eval(family["kept"], dict(scope))
        calls.append(([sample], eval(expression, scope)))
    called = name.format(c=re.sub(r"\W+", "_", (short or [noun])[0]))
    sentence = _framed(family, phrase, noun, "frames", rng)
    return Task(called, family["parameter"], returns, [sentence, *extra], calls)


def _single_task(row: list[Any]) -> Task:
    name, parameters, returns, text, expression, *calls = row
    keys = [part.split(":")[0].strip() for part in re.split(r", (?=\w+:)", parameters)]
    results = [eval(expression, dict(zip(keys, call, strict=True))) for call in calls]
    return Task(name, parameters, returns, [text], list(zip(calls, results, strict=True)))


def _combinations() -> Iterator[tuple[dict[str, Any], list[str], list[str]]]:
    for family in _data()["code"]["families"]:
        for operation, condition in product(family["operations"], family["conditions"]):
            yield family, operation, condition


def _tasks(rng: random.Random) -> Iterator[Task]:
    yield from (_family_task(*combination, rng) for combination in _combinations())
    yield from map(_single_task, _data()["code"]["singles"])


def _lines(task: Task, rng: random.Random) -> list[str]:
    width = rng.choice((78, 88, 96))
    lines = [line for text in task.sentences for line in textwrap.wrap(text, width)]
    for arguments, result in task.calls[: rng.choice((0, 1, 1, 1, 2, 2, 2, 3))]:
        shown = ", ".join(map(repr, arguments))
        lines += [f">>> {task.name}({shown})", *([] if result is None else [repr(result)])]
    return lines


def _stub(task: Task, rng: random.Random) -> str:
    names = [n for n in TYPING if re.search(rf"\b{n}\b", f"{task.parameters} {task.returns}")]
    head, quotes = f"def {task.name}({task.parameters}) -> {task.returns}:", '""" '
    if rng.random() < 0.3:  # the older style: built-in types and nothing imported
        names, quotes = [], rng.choice(('"""', '"""', '"""\n    '))
        plain = re.sub(r"\b(List|Dict|Tuple)\[.*?\]+", lambda m: m[1].lower(), task.parameters)
        head = f"def {task.name}({plain}):"
    imports = f"from typing import {', '.join(names)}\n" if names else ""
    body = "\n    ".join(_lines(task, rng))
    return f'```python\n{imports}\n\n{head}\n    {quotes}{body}\n    """\n\n```'


def _stubs(rng: random.Random) -> Iterator[str]:
    lead = "Write a solution to the following problem and make sure that it passes the tests:\n"
    tasks = list(_tasks(rng))
    rng.shuffle(tasks)
    return (lead + _stub(task, rng) for task in tasks)


def _one_liners(rng: random.Random) -> Iterator[str]:
    some = rng.sample(list(_combinations()), 120)
    lines = [_framed(family, do[1], noun, "liners", rng) for family, do, (noun, *_) in some]
    lines += (line[0].lower() + line[1:] for line in islice(_drawn("code", rng), 1000))
    lines = list(dict.fromkeys(lines))
    rng.shuffle(lines)
    return (f"Write a {rng.choice(('', 'python '))}function to {line}." for line in lines)


def _code(rng: random.Random) -> Iterator[str]:
    # Three stubs to two single lines, as long as there are both.
    stubs, liners = _stubs(rng), _one_liners(rng)
    while part := [*islice(stubs, 3), *islice(liners, 2)]:
        yield from part


def _texts(domain: str, rng: random.Random) -> Iterator[str]:
    if domain == "code":
        return _code(rng)
    return (text + BOXED * (domain == "math") for text in _drawn(domain, rng))


def _distinct(texts: Iterable[str], count: int) -> Iterator[str]:
    """The first `count` texts that differ in more than case; fewer where new ones run out."""
    seen: set[str] = set()
    idle = 0
    for text in texts:
        if len(seen) >= count or idle > PATIENCE:
            return
        idle = idle + 1 if text.lower() in seen else 0
        if not idle:
            seen.add(text.lower())
            yield text


def own_prompts(count_per_domain: dict[str, int], seed: int) -> list[Prompt]:
    """So many different prompts of each domain, the same for the same seed."""
    return [
        Prompt(text, domain)
        for domain, count in count_per_domain.items()
        for text in _distinct(_texts(domain, random.Random(f"{seed} {domain}")), count)
    ]


def main() -> None:
    """Write prompts as JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    for domain in DOMAINS:
        parser.add_argument(f"--{domain}", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    prompts = own_prompts({domain: getattr(args, domain) for domain in DOMAINS}, args.seed)
    rows = ({"source": "own", "domain": p.domain, "prompt": p.text} for p in prompts)
    args.output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
