"""Which keys a public draft config may have: the tables behind `config_file`.

They are those of `Qwen3DSparkModel` and `DFlashDraftModel` as SGLang 0.5.23 reads them
(`dspark_config.py`, `dflash_utils.py`, `models/dspark.py`, `models/dflash.py`).
"""

from typing import Any

Json = dict[str, Any]

RENAMED = {"architecture": "architectures", "gamma": "block_size"}
"""Fields of `DraftConfig` that are called differently in the file."""

NESTED = ("dflash_config", "dspark_config")
"""Sections of some published drafts; their keys win over those at top level."""

OPTIONAL_FOR_DFLASH: Json = {
    "markov_head_type": "none",
    "markov_rank": 0,
    "enable_confidence_head": False,
    "confidence_head_with_markov": False,
    "sample_from_anchor": False,
}
"""Keys that a DFlash checkpoint need not have, with what it means by that."""

ONLY: Json = {
    "hidden_act": "silu",
    "is_causal": False,
    "projector_type": None,
    "rope_scaling": None,
    "use_gemma_norm": False,
    "use_sliding_window": False,
}
"""Keys with the one value that is implemented; absent means the same."""

IGNORED = frozenset(
    {
        "_attn_implementation",
        "_name_or_path",
        "attention_dropout",
        "auto_map",
        "bos_token_id",
        "ce_loss_alpha",
        "chunk_size_feed_forward",
        "confidence_head_alpha",
        "dtype",
        "eos_token_id",
        "id2label",
        "initializer_range",
        "is_encoder_decoder",
        "l1_loss_alpha",
        "label2id",
        "loss_decay_gamma",
        "mask_token",
        "max_window_layers",
        "model_type",
        "num_anchors",
        "num_nextn_predict_layers",
        "output_attentions",
        "output_hidden_states",
        "pad_token_id",
        "problem_type",
        "return_dict",
        "sliding_window",
        "tie_word_embeddings",
        "torch_dtype",
        "transformers_version",
        "use_cache",
    }
)
"""Keys of Hugging Face and of the training code that do not change what a draft computes."""
