"""The platform class, and who asks it."""

from dspark_sglang.contract_types import calls, fields, overrides

_PLATFORM = "sglang.srt.platforms.interface.SRTPlatform"
_OPS = "sglang.kernels.ops"

PLATFORM_NEEDS = (
    *overrides(
        _PLATFORM,
        get_device_total_memory=("device_id",),
        get_current_memory_usage=("device",),
        get_available_memory=("device_id",),
        get_device=("device_id",),
        set_device=("device",),
        get_device_name=("device_id",),
        get_device_uuid=("device_id",),
        get_device_capability=("device_id",),
        empty_cache=(),
        get_torch_distributed_backend_str=(),
        get_torch_profiler_activity_str=(),
        get_torch_profiler_activity=(),
        get_default_attention_backend=(),
        get_default_speculative_draft_attention_backend=("algorithm",),
        supports_speculative_draft_attention_backend=("algorithm", "backend"),
        supports_speculative_algorithm=("algorithm",),
        get_kv_pool_cls=("kind",),
        get_speculative_cache_locs_fn=(),
        get_dispatch_key_name=(),
        get_compile_backend=("mode",),
        init_backend=(),
    ),
    *calls(
        f"{_OPS}.speculative.cache_locs",
        assign_extend_cache_locs_func=(
            "req_pool_indices",
            "req_to_token",
            "start_offset",
            "end_offset",
            "batch_size",
            "draft_token_num",
            "device",
        ),
    ),
    *fields(_PLATFORM, "_enum", "device_name", "device_type", "capabilities"),
    *fields("sglang.srt.platforms.device_mixin.PlatformEnum", "OOT"),
    *fields("sglang.srt.platforms.interface", "PlatformCapabilities"),
    *fields("sglang.srt.platforms", "_resolve_platform"),
)
"""The platform class and who asks it. (`platforms.current_platform` is made on first use.)"""
