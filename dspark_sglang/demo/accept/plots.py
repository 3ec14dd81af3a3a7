"""Plots as in the paper: acceptance by position, accept length by domain and by block length."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from dspark_sglang.demo.accept.measured import REFERENCE, Measured
from dspark_sglang.demo.accept.table import names_of

mpl.use("Agg")

Lengths = Mapping[str, Mapping[str, Sequence[float]]]
"""Accept length with blocks of 1, 2, ... tokens, by domain and drafter."""


def save_conditional(measured: Measured, temperature: float, path: Path) -> None:
    """Acceptance of each position given that those before it were accepted, by the reference."""
    domains = names_of(measured, 3)
    figure, panels = _panels(domains, "position in the block", "conditional acceptance")
    for key, acceptance in measured.items():
        if (key.side, key.temperature) == (REFERENCE, temperature):
            shares = acceptance.conditional
            panel = panels[key.domain]
            panel.plot(range(1, len(shares) + 1), shares, marker="o", label=key.drafter)
    _save(figure, panels, path, f"temperature {temperature:g}")


def save_lengths(measured: Measured, temperature: float, path: Path) -> None:
    """Accept length of each drafter by domain and side."""
    domains = names_of(measured, 3)
    drafters, sides = names_of(measured, 0), names_of(measured, 1)
    figure, panels = _panels(domains, "", "accept length")
    width = 0.8 / len(sides)
    for key, acceptance in measured.items():
        if key.temperature == temperature:
            place = drafters.index(key.drafter) + width * sides.index(key.side)
            colour = f"C{sides.index(key.side)}"
            panels[key.domain].bar(place, acceptance.accept_length, width, color=colour)
    for panel in panels.values():
        panel.set_xticks(range(len(drafters)), drafters, rotation=45)
        for number, side in enumerate(sides):
            panel.bar(0, 0, color=f"C{number}", label=side)
    _save(figure, panels, path, f"temperature {temperature:g}")


def save_block_lengths(lengths: Lengths, temperature: float, path: Path) -> None:
    """Accept length over the length of the block that is verified, by the reference."""
    figure, panels = _panels(list(lengths), "block length", "accept length")
    for domain, rows in lengths.items():
        for drafter, values in rows.items():
            panel = panels[domain]
            panel.plot(range(1, len(values) + 1), values, marker="o", label=drafter)
    _save(figure, panels, path, f"temperature {temperature:g}")


def _panels(domains: Sequence[str], x: str, y: str) -> tuple[Figure, dict[str, Any]]:
    figure, axes = plt.subplots(
        1, len(domains), figsize=(4 * len(domains), 3.6), squeeze=False, sharey=True
    )
    for domain, panel in zip(domains, axes[0], strict=True):
        panel.set(title=domain, xlabel=x)
        panel.grid(visible=True, alpha=0.3)
    axes[0][0].set_ylabel(y)
    return figure, dict(zip(domains, axes[0], strict=True))


def _save(figure: Figure, panels: Mapping[str, Any], path: Path, title: str) -> None:
    next(iter(panels.values())).legend(fontsize="small")
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
