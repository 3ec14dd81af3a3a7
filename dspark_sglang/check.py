"""`python -m dspark_sglang.check`: does the installed SGLang fit this release?"""

import sys


def main() -> int:
    """Print a report for each part that does not fit; 0 when all do, 1 when not."""
    from sglang.version import __version__ as installed

    from dspark_sglang import contract
    from dspark_sglang.contract_check import faults

    parts = contract.parts()
    reports = [contract.report(part, found) for part in parts if (found := faults(part.needs))]
    if reports:
        print("\n".join(reports))
        return 1
    count = sum(len(part.needs) for part in parts)
    print(f"SGLang {installed} meets all {count} needs of dspark-sglang.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
