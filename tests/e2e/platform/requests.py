"""Greedy requests whose answers must not depend on how they are decoded."""

import json
from typing import Any

QUESTIONS = (
    "Write one sentence about a red fox.",
    "What is 17 times 23? Think step by step.",
    "Write a Python function that adds two numbers.",
    "List three fruits and their colors.",
    "Who wrote Hamlet, and when?",
    "Translate to French: good morning, my friend.",
    "Count from one to ten in words.",
    "Explain why the sky is blue to a child.",
)
STORIES = (
    "The history of the city begins",
    "Once upon a time, in a small village by the sea,",
    "A computer consists of",
    "The most important rivers of Europe are",
    "My grandmother used to say that",
    "During the long winter the sailors",
    "To bake bread you need",
    "The planets of the solar system are",
)
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
LONG_TEXT = "The quick brown fox number {} jumps over the lazy dog. "


def chat(question: str) -> str:
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


def greedy(text: str, tokens: int, **params: Any) -> dict[str, Any]:
    return {"text": text, "sampling_params": {"temperature": 0, "max_new_tokens": tokens, **params}}


def all_questions(tokens: int) -> list[dict[str, Any]]:
    return [greedy(chat(question), tokens, ignore_eos=True) for question in QUESTIONS]


def long_prompt() -> str:
    return chat("".join(LONG_TEXT.format(number) for number in range(14)) + "Which foxes jump?")


def stories(tokens: int) -> list[dict[str, Any]]:
    """Texts that go on, but may end: SGLang admits more of these than the pool can hold."""
    return [greedy(text, tokens) for text in STORIES]


def repetition(**params: Any) -> dict[str, Any]:
    """A prompt that a greedy model goes on repeating, unless penalties forbid it."""
    return greedy("one two one two one two one two one", 30, ignore_eos=True, **params)


def special_requests() -> dict[str, dict[str, Any]]:
    """Requests that use one feature each."""
    person = chat("Give a person as JSON.")
    return {
        "json": greedy(person, 48, json_schema=json.dumps(SCHEMA)),
        "regex": greedy(chat("Name a year."), 12, regex="(19|20)[0-9]{2}\\."),
        "stop": greedy(chat(QUESTIONS[0]), 40, stop=["majestic", "never said"]),
        "long": greedy(long_prompt(), 24, ignore_eos=True),
        "logprobs": {
            **greedy(chat("What color is grass?"), 24, ignore_eos=True),
            "return_logprob": True,
            "top_logprobs_num": 3,
        },
        "top_k 1": greedy(chat("Name a big city."), 24, temperature=1.0, top_k=1, ignore_eos=True),
        "logit bias": greedy(chat("Say hello."), 24, logit_bias={"28": -100.0}, ignore_eos=True),
    }
