"""The kinds of sampled requests, and how far each is asked for."""

from .exact import Case, biased, only, penalised, sampled
from .models import LETTERS

ALPHA = 1e-6
"""Least p-value of a right distribution. Servers draw other numbers in each run, since batches
form by time: with some 60 p-values a run, one run in ten thousand fails by chance."""
EACH, LEAST = 300, {"rejection": 60, "cut": 200, "full": 200}
"""Answers of each kind, and that show each end of a round; enough, as `test_power` shows."""
WINDOWS = ((0, 1, 2), (1, 2, 3), (2, 3, 4))
"""Places of an answer whose joint distribution is compared."""

PLAIN = Case({}, sampled(), 1.0)
CASES = {
    "plain": PLAIN,
    "top-k": Case({"temperature": 0.7, "top_k": 3}, sampled(0.7, top_k=3), 0.7),
    "top-p": Case({"temperature": 1.3, "top_p": 0.8}, sampled(1.3, top_p=0.8), 1.3),
    "top-k, top-p": Case({"top_k": 4, "top_p": 0.8}, sampled(top_k=4, top_p=0.8), 1.0),
    "min-p": Case({"min_p": 0.2}, sampled(min_p=0.2), 1.0),
    "all filters": Case(
        {"temperature": 0.8, "top_k": 5, "top_p": 0.9, "min_p": 0.1}, sampled(0.8, 5, 0.9, 0.1), 0.8
    ),
    "frequency": Case({"frequency_penalty": 1.2}, penalised(frequency=1.2), 1.0),
    "presence": Case({"presence_penalty": 1.5}, penalised(presence=1.5), 1.0),
    "repetition": Case({"repetition_penalty": 2.0}, penalised(repetition=2.0), 1.0),
    "bias": Case({"logit_bias": {"2": 2.0, "0": -1.5}}, biased({2: 2.0, 0: -1.5}), 1.0),
    "grammar": Case({"regex": "[abdeg]{20}"}, only("abdeg", LETTERS), 1.0),
    "greedy": Case({"temperature": 0.0}, sampled(top_k=1), 0.0),
}
