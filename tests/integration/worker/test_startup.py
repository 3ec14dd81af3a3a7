"""Defaults and refusals that are decided from the server arguments."""

import importlib.util
from pathlib import Path

import pytest

from dspark_sglang.startup import NO_RAGGED_GRAPHS, ragged_graph_fault


@pytest.mark.parametrize("backend", ["flashinfer", "triton", "torch_native"])
def test_a_target_backend_without_ragged_graphs_is_refused_with_the_remedy(backend):
    fault = ragged_graph_fault(backend, compact=True, graphs=True, mla=False)
    assert fault is not None
    for word in (backend, "fa3", "trtllm_mha", "--disable-cuda-graph", "static"):
        assert word in fault


@pytest.mark.parametrize(
    ("backend", "compact", "graphs", "mla"),
    [
        ("fa3", True, True, False),
        ("trtllm_mha", True, True, False),
        ("flashinfer", False, True, False),
        ("flashinfer", True, False, False),
        ("flashinfer", True, True, True),  # MLA has a FlashInfer backend of its own
    ],
)
def test_what_upstream_runs_is_not_refused(backend, compact, graphs, mla):
    assert ragged_graph_fault(backend, compact=compact, graphs=graphs, mla=mla) is None


MODULES = {
    "flashinfer": ("flashinfer_backend", False),
    "triton": ("triton_backend", False),
    "torch_native": ("torch_native_backend", False),
    "flex_attention": ("torch_flex_backend", False),
    "fa3": ("flashattention_backend", True),
    "trtllm_mha": ("trtllm_mha_backend", True),
    "trtllm_mla": ("trtllm_mla_backend", True),
}


@pytest.mark.parametrize("backend", MODULES)
def test_the_backend_names_agree_with_the_classes_of_the_engine(backend):
    module, supports = MODULES[backend]
    spec = importlib.util.find_spec(f"sglang.srt.layers.attention.{module}")
    declares = "supports_ragged_verify_graph: bool = True" in Path(spec.origin).read_text()
    assert declares is supports
    assert (backend in NO_RAGGED_GRAPHS) is not supports
