"""Hooks on what else a scheduler process does."""

from dspark_sglang.platforms.cpu.hooks.hook import CpuHook


def worker_hooks() -> tuple[CpuHook, ...]:
    """Hooks on what else a scheduler process does."""
    from dspark_sglang.platforms.cpu import dflash, replacements, threads

    return (
        CpuHook(
            "sglang.srt.distributed.bootstrap._init_cpu_threads_env",
            "replace",
            threads.bind_threads,
            "it binds the threads of a rank only through SGLang's own CPU kernels",
        ),
        CpuHook(
            "sglang.srt.models.dspark.DSparkDraftMixin.attach_shared_modules",
            "before",
            replacements.complete_tied_head,
            "Gemma 4 ties its head to an embedding without the fields that a draft reads",
        ),
        CpuHook(
            "torch.Tensor.record_stream",
            "around",
            replacements.record_stream,
            "torch raises for CPU tensors, and the DSPARK worker calls it each step",
        ),
        CpuHook(
            "sglang.kernels.ops.speculative.dspark.markov_sample.MarkovSampleStep.torch",
            "around",
            replacements.markov_sample_step,
            "it draws Gumbel noise over the vocabulary for greedy rows as well",
        ),
        CpuHook(
            "sglang.srt.model_executor.model_runner.ModelRunner._extend_forward_kwargs",
            "around",
            dflash.extend_forward_kwargs,
            "it rounds input embeddings to bfloat16, which a DFLASH draft in float32 cannot read",
        ),
    )
