"""Writes the configuration table of the README from the settings themselves, or checks it."""

import argparse
from pathlib import Path

from dspark_sglang.settings import settings_table

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- settings -->\n", "<!-- /settings -->\n"


def table() -> str:
    """The settings as a Markdown table."""
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    lines += [f"| `{row.variable}` | {row.default} | {row.meaning} |" for row in settings_table()]
    return "\n".join(lines) + "\n"


def with_table(text: str) -> str:
    """The README's text with the table as it should be."""
    before, rest = text.split(BEGIN)
    _old, after = rest.split(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


def main() -> None:
    """`write` or `check`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["write", "check"])
    text = README.read_text()
    if parser.parse_args().action == "write":
        README.write_text(with_table(text))
    elif with_table(text) != text:
        raise SystemExit("readme: the configuration table is out of date; run `make readme`")


if __name__ == "__main__":
    main()
