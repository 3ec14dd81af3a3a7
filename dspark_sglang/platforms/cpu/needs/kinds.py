"""How the needs of the CPU platform are written down."""

from dspark_sglang.contract_types import Need


def overrides(owner: str, **methods: tuple[str, ...]) -> tuple[Need, ...]:
    """Functions of `owner` that we replace, by name with their parameters."""
    return tuple(Need(f"{owner}.{name}", "override", names) for name, names in methods.items())


def calls(owner: str, **functions: tuple[str, ...]) -> tuple[Need, ...]:
    """Functions of `owner` that we call, with the parameters that we pass."""
    return tuple(Need(f"{owner}.{name}", "call", names) for name, names in functions.items())


def fields(owner: str, *names: str) -> tuple[Need, ...]:
    """Names of `owner` that we read or write."""
    return tuple(Need(f"{owner}.{name}", "field") for name in names)
