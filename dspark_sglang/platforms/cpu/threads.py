"""Which CPUs the threads of a rank may use.

SGLang reads `SGLANG_CPU_OMP_THREADS_BIND` ("0-3|4-7", one entry a tensor-parallel rank), but
binds through a kernel that only its own CPU engine has. Unbound ranks all take every core,
and their OpenMP barriers then wait for threads that have no core to run on.

Where the variable is not set nothing is bound, and `OMP_NUM_THREADS` counts: SGLang would take
the cores of a NUMA node, also those that a container may not use. How threads wait is settled
in `startup.wait_passively`.
"""

import os

import torch

VARIABLE = "SGLANG_CPU_OMP_THREADS_BIND"


def bind_threads(*, local_omp_cpuid: str, dist_init_method: str | None = None) -> None:  # noqa: ARG001
    """Bind this process to its entry of the variable, if it was set.

    `local_omp_cpuid` is that entry, as SGLang found it. Raises ValueError for CPUs that the
    process cannot use.
    """
    if os.environ.get(VARIABLE, "all") == "all":
        return
    cpus = parse_cpus(local_omp_cpuid)
    if hasattr(os, "sched_setaffinity"):
        try:
            os.sched_setaffinity(0, cpus)
        except OSError as error:
            usable = sorted(os.sched_getaffinity(0))
            raise ValueError(
                f"{VARIABLE}: this process cannot run on CPUs {local_omp_cpuid!r} ({error}); "
                f"choose from {usable}"
            ) from error
    torch.set_num_threads(len(cpus))


def parse_cpus(text: str) -> set[int]:
    """CPU numbers of a list such as "0-3,8"; raises ValueError for anything else."""
    cpus: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        try:
            cpus.update(range(int(first), int(last or first) + 1))
        except ValueError:
            raise ValueError(f"{VARIABLE}: {part!r} is no CPU or range such as 0-3") from None
    return cpus
