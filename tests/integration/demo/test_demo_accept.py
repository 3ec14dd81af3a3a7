"""Figures of bench-accept from rounds that are counted by hand."""

from dspark_sglang.demo.accept.measured import ENGINE, REFERENCE, Key, of_histogram, ratio
from dspark_sglang.demo.accept.report import figures_of

HISTOGRAM = (4, 3, 0, 1)
"""Eight rounds: four accepted nothing, three one token, one three of three."""


def test_a_histogram_has_the_rounds_of_a_walk() -> None:
    found = of_histogram(HISTOGRAM, 3)
    assert (found.rounds, found.tokens) == (8, 4 + 3 * 2 + 4)
    assert found.reached == (8, 4, 1)
    assert found.accepted == (4, 1, 1)
    assert found.conditional == [0.5, 0.25, 1.0]
    assert found.accept_length == 14 / 8


def test_a_histogram_may_be_shorter_than_the_block() -> None:
    found = of_histogram((2, 2), 3)
    assert found.reached == (4, 2, 0)
    assert found.conditional == [0.5, 0.0, 0.0]


def test_ratios_are_of_means_over_the_domains() -> None:
    lengths = {"a": {"math": 3.0, "chat": 1.0}, "b": {"math": 2.0, "chat": 2.0}}
    assert ratio(lengths, "a", "b") == 1.0
    assert ratio({**lengths, "a": {"math": 4.0, "chat": 1.0}}, "a", "b") == 1.25
    assert ratio(lengths, "a", "missing") is None


def test_figures_prefer_the_engine_and_compare_one_side() -> None:
    measured = {
        Key("vanilla", REFERENCE, 0.0, "math"): of_histogram((1, 1), 3),
        Key("dflash", REFERENCE, 0.0, "math"): of_histogram((1, 0), 3),
        Key("eagle3", REFERENCE, 0.0, "math"): of_histogram((4, 1), 3),
        Key("vanilla", ENGINE, 0.0, "math"): of_histogram((0, 0, 1), 3),
        Key("dflash", ENGINE, 0.0, "math"): of_histogram((0, 1), 3),
        Key("eagle3", ENGINE, 0.0, "math"): of_histogram((1, 2, 1), 3),
    }
    figures = figures_of(measured, {})
    assert figures["accept_length"] == {
        "vanilla": {"math": 3.0},
        "dflash": {"math": 2.0},
        "eagle3": {"math": 2.0},
    }
    assert figures["dspark_over_dflash"] == 1.5
    assert figures["dspark_over_eagle3"] == 1.5
    assert figures["dspark_over_dflash_by_side"]["reference, temperature 0"] == 1.5
    assert figures["dspark_over_eagle3_by_side"] == {
        "engine, temperature 0": 1.5,
        "reference, temperature 0": 1.25,
    }
