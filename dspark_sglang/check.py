"""`python -m dspark_sglang.check`: does the installed SGLang fit this release?"""

import sys


def main() -> int:
    """Print the report; 0 when everything fits, 1 when not."""
    from sglang.version import __version__ as installed

    from dspark_sglang import contract

    found = contract.faults()
    if found:
        print(contract.report(found))
        return 1
    print(f"SGLang {installed} meets all {len(contract.needs())} needs of dspark-sglang.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
