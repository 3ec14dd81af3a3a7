"""Which sample comes when, from seed and number alone, so that a resumed run sees the same ones."""

from collections.abc import Sequence

import torch
from torch import Generator


def generator_of(seed: int, number: int) -> Generator:
    """The randomness of one numbered thing."""
    return torch.Generator().manual_seed((seed << 40) + number)


class Order:
    """An endless sequence over some indices; every epoch is a new permutation."""

    def __init__(self, indices: Sequence[int], seed: int) -> None:
        self.indices, self.seed = indices, seed
        self._epoch, self._permutation = -1, list[int]()

    def __getitem__(self, number: int) -> int:
        epoch, place = divmod(number, len(self.indices))
        if epoch != self._epoch:
            generator = generator_of(self.seed, epoch)
            self._permutation = torch.randperm(len(self.indices), generator=generator).tolist()
            self._epoch = epoch
        return self.indices[self._permutation[place]]
