"""Hooks on the resolution of server arguments."""

from dspark_sglang.platforms.cpu.hooks.hook import CpuHook


def argument_hooks() -> tuple[CpuHook, ...]:
    """Hooks on the resolution of server arguments, in any process."""
    from dspark_sglang.platforms.cpu import bundled, startup

    return (
        CpuHook(
            "sglang.srt.arg_groups.model_path_hook.handle_model_source_paths",
            "before",
            bundled.refuse_bundled_draft,
            "nothing else stops a DeepSeek-V4 checkpoint before its weights are loaded",
        ),
        CpuHook(
            "sglang.srt.arg_groups.platform_hook.handle_cpu_backends",
            "before",
            startup.default_attention_backend,
            "it declares intel_amx or torch_native before a platform is asked",
        ),
        CpuHook(
            "sglang.srt.arg_groups.platform_hook.handle_cpu_backends",
            "before",
            startup.wait_passively,
            "the threads of the processes that are spawned next take it from the environment",
        ),
        CpuHook(
            "sglang.srt.arg_groups.speculative_hook._handle_dspark",
            "around",
            startup.present_device,
            "it accepts CUDA, NPU and XPU by name and does not ask the platform",
        ),
        CpuHook(
            "sglang.srt.arg_groups.speculative_hook._handle_eagle_family",
            "before",
            startup.refuse_trees,
            "it chooses trees by itself, which are not verified here",
        ),
    )
