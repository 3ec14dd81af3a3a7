"""DSpark in pure torch, for reading and as the oracle that the engine is compared with.

Read in this order: `config`, `layers`, `backbone` (2, 3), `heads` (4-6), `confidence` (7),
`draft`, `sampling`, `decode`; `checkpoint` and `config_file` are the public file format and
`hf_target` the adapter to Hugging Face models. Numbers in brackets are equations of the paper
"DSpark: Confidence-Scheduled Speculative Decoding with Semi-Autoregressive Generation".
"""

from dspark_sglang.reference.checkpoint import read_draft, write_draft
from dspark_sglang.reference.config import DraftConfig
from dspark_sglang.reference.decode import Decoder, generate, generate_plain
from dspark_sglang.reference.draft import Draft
from dspark_sglang.reference.records import DecodeOptions, Generation, Round
from dspark_sglang.reference.sampling import SamplingParams
from dspark_sglang.reference.target import Target, TargetStep

__all__ = [
    "DecodeOptions",
    "Decoder",
    "Draft",
    "DraftConfig",
    "Generation",
    "Round",
    "SamplingParams",
    "Target",
    "TargetStep",
    "generate",
    "generate_plain",
    "read_draft",
    "write_draft",
]
