"""The figures as tables for a terminal: one row a drafter, one column a domain."""

from collections.abc import Mapping, Sequence

from rich.table import Table

from dspark_sglang.demo.accept.measured import ENGINE, REFERENCE, Key, Measured

Speeds = Mapping[str, Mapping[str, float]]


def names_of(measured: Measured, field: int) -> list[str]:
    """The values of one field of the keys, in order of appearance."""
    return list(dict.fromkeys(str(key[field]) for key in measured))


def length_table(measured: Measured, temperature: float) -> Table:
    """Accept lengths, reference / engine."""
    domains = names_of(measured, 3)
    table = Table(title=f"accept length at temperature {temperature:g}: reference / engine")
    table.add_column("drafter")
    for domain in domains:
        table.add_column(domain, justify="right")
    for drafter in names_of(measured, 0):
        cells = [_pair(measured, drafter, temperature, domain) for domain in domains]
        table.add_row(drafter, *cells)
    return table


def conditional_table(measured: Measured, temperature: float, domain: str) -> Table:
    """Acceptance of each position given that those before it were accepted, by the reference."""
    keys = [key for key in measured if key[1:] == (REFERENCE, temperature, domain)]
    table = Table(title=f"conditional acceptance by position, {domain}, at {temperature:g}")
    table.add_column("drafter")
    for position in range(len(measured[keys[0]].conditional) if keys else 0):
        table.add_column(str(position + 1), justify="right")
    for key in keys:
        table.add_row(key.drafter, *(f"{share:.2f}" for share in measured[key].conditional))
    return table


def speed_table(speeds: Speeds) -> Table:
    """Tokens per second by those of plain decoding."""
    domains: Sequence[str] = list(dict.fromkeys(name for row in speeds.values() for name in row))
    table = Table(title="tokens per second over plain decoding, greedy, one request at a time")
    table.add_column("drafter")
    for domain in domains:
        table.add_column(domain, justify="right")
    for drafter, row in speeds.items():
        table.add_row(drafter, *(f"{row[domain]:.2f}" for domain in domains))
    return table


def _pair(measured: Measured, drafter: str, temperature: float, domain: str) -> str:
    keys = [Key(drafter, side, temperature, domain) for side in (REFERENCE, ENGINE)]
    found = [measured[key].accept_length if key in measured else None for key in keys]
    return " / ".join("-" if value is None else f"{value:.2f}" for value in found)
