"""`python -m dspark_sglang.training --config FILE [--drafter NAME] [--stage STAGE ...]`"""

import argparse
from pathlib import Path

from dspark_sglang.training.config import read_config
from dspark_sglang.training.drafters import DRAFTERS, as_drafter
from dspark_sglang.training.progress import Progress
from dspark_sglang.training.run import Run

STAGES = ("generate", "cache", "fit", "evaluate")


def main() -> None:
    """Runs the named stages in their order, all of them by default."""
    parser = argparse.ArgumentParser(prog="python -m dspark_sglang.training", description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--stage", choices=STAGES, nargs="*", default=STAGES)
    parser.add_argument("--drafter", choices=DRAFTERS, help="another draft on the same budget")
    given = parser.parse_args()
    try:
        config = read_config(given.config)
        if given.drafter:
            config = as_drafter(config, given.drafter)
        run = Run(config, Progress(lambda text: print(text, flush=True)))
        for stage in STAGES:
            if stage in given.stage:
                run.stage(stage)
    except (ValueError, OSError) as error:
        raise SystemExit(f"training: {error}") from error


if __name__ == "__main__":
    main()
