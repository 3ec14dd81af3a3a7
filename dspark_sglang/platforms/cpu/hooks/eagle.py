"""Hooks of EAGLE3."""

from dspark_sglang.platforms.cpu.hooks.hook import CpuHook


def eagle_hooks() -> tuple[CpuHook, ...]:
    """Hooks of EAGLE3: a chain in place of a tree, and torch in place of Triton launches."""
    from dspark_kernels import draft_chain
    from dspark_sglang.platforms.cpu import eagle

    return (
        CpuHook(
            "sglang.srt.speculative.draft_utils.DraftBackendFactory._create_triton_decode_backend",
            "replace",
            eagle.decode_backend,
            "a Triton backend, and ours is served under that name",
        ),
        CpuHook(
            "sglang.srt.speculative.draft_utils.DraftBackendFactory._create_triton_prefill_backend",
            "replace",
            eagle.extend_backend,
            "a Triton backend, and ours is served under that name",
        ),
        CpuHook(
            "sglang.kernels.ops.speculative.cache_locs.assign_draft_cache_locs_contiguous_func",
            "replace",
            eagle.draft_cache_locs,
            "a Triton launch: slots of the drafted tokens",
        ),
        CpuHook(
            "sglang.srt.speculative.spec_utils.select_top_k_tokens",
            "replace",
            eagle.next_tokens,
            "it chooses among branches, and compiles that through Inductor at the first request",
        ),
        CpuHook(
            "sglang.kernels.ops.speculative.spec_tree.build_tree_kernel_efficient_func",
            "replace",
            draft_chain.build_chain,
            "a CUDA kernel: the tree of the drafted tokens",
        ),
        CpuHook(
            "sglang.kernels.ops.speculative.spec_tree.verify_tree_greedy_func",
            "replace",
            draft_chain.verify_chain_greedy,
            "a CUDA kernel: verification of greedy requests",
        ),
        CpuHook(
            "sglang.kernels.ops.speculative.eagle.fill_bonus_tokens_func",
            "replace",
            draft_chain.fill_bonus_tokens,
            "a Triton launch: the last token of each round",
        ),
        CpuHook(
            "sglang.srt.speculative.draft_utils.DraftBackendFactory.create_decode_backend",
            "before",
            eagle.provide_sampling,
            "verification of sampled requests is empty without a CUDA kernel; called once a worker",
        ),
    )
