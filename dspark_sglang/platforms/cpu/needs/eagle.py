"""What EAGLE3 on the CPU platform replaces, and what it reads."""

from dspark_sglang.contract_types import calls, fields, overrides

_OPS = "sglang.kernels.ops.speculative"
_SPECULATIVE = "sglang.srt.speculative"
_FACTORY = f"{_SPECULATIVE}.draft_utils.DraftBackendFactory"
_UTILS = f"{_SPECULATIVE}.eagle_utils"
_ARGS = "sglang.srt.server_args.ServerArgs"

EAGLE_NEEDS = (
    *overrides("sglang.srt.arg_groups.speculative_hook", _handle_eagle_family=("server_args",)),
    *overrides(
        _FACTORY,
        _create_triton_decode_backend=(),
        _create_triton_prefill_backend=(),
        create_decode_backend=(),
    ),
    *overrides(
        f"{_OPS}.cache_locs",
        assign_draft_cache_locs_contiguous_func=(
            "req_pool_indices",
            "req_to_token",
            "seq_lens",
            "out_cache_loc",
            "topk",
            "num_cols",
            "positions",
            "mrope",
        ),
    ),
    *overrides(
        f"{_OPS}.spec_tree",
        build_tree_kernel_efficient_func=(
            "parent_list",
            "top_scores_index",
            "seq_lens",
            "tree_mask",
            "positions",
            "retrieve_index",
            "retrieve_next_token",
            "retrieve_next_sibling",
            "topk",
            "spec_steps",
            "num_verify_tokens",
            "tree_mask_mode",
        ),
        verify_tree_greedy_func=(
            "predicts",
            "accept_index",
            "accept_token_num",
            "candidates",
            "retrieve_index",
            "retrieve_next_token",
            "retrieve_next_sibling",
            "target_predict",
            "topk",
        ),
    ),
    *overrides(
        f"{_OPS}.eagle",
        fill_bonus_tokens_func=(
            "accept_tokens",
            "accept_lens",
            "bonus_tokens",
            "accept_stride",
            "batch_size",
        ),
    ),
    *overrides(
        f"{_SPECULATIVE}.spec_utils",
        select_top_k_tokens=("i", "topk_p", "topk_index", "hidden_states", "scores", "topk"),
    ),
    *fields(
        _UTILS,
        "tree_speculative_sampling_target_only",
        "top_k_renorm_prob",
        "top_p_renorm_prob",
    ),
    *calls(
        f"{_SPECULATIVE}.dflash_utils",
        _dflash_top_k_renorm_prob=("probs", "top_ks"),
        _dflash_top_p_renorm_prob=("probs", "top_ps"),
    ),
    *fields(f"{_SPECULATIVE}.eagle_info.EagleVerifyInput", "custom_mask", "topk"),
    *fields(f"{_SPECULATIVE}.eagle_info.EagleVerifyInput", "draft_token_num"),
    *fields(_FACTORY, "draft_model_runner", "speculative_num_steps"),
    *fields(_ARGS, "speculative_eagle_topk", "speculative_num_steps", "speculative_adaptive"),
    *fields(_ARGS, "enable_multi_layer_eagle", "enable_deterministic_inference"),
)
"""The chain in place of a tree."""
