"""Every name of SGLang that the CPU platform relies on, for the contract check at load."""

from dspark_sglang.contract_types import Need
from dspark_sglang.platforms.cpu.needs.attention import ATTENTION_NEEDS, POOL_NEEDS
from dspark_sglang.platforms.cpu.needs.eagle import EAGLE_NEEDS
from dspark_sglang.platforms.cpu.needs.engine import HOOK_NEEDS
from dspark_sglang.platforms.cpu.needs.platform import PLATFORM_NEEDS
from dspark_sglang.platforms.cpu.needs.weights import WEIGHT_NEEDS

NEEDS: tuple[Need, ...] = (
    *PLATFORM_NEEDS,
    *ATTENTION_NEEDS,
    *POOL_NEEDS,
    *HOOK_NEEDS,
    *EAGLE_NEEDS,
    *WEIGHT_NEEDS,
)
"""All of them."""
