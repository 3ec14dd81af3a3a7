"""The table files against SGLang's own classes: what either writes, the other reads."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from dspark_control.core import SpsAdditiveTable, SpsStepTable, SpsTable, StsTable
from dspark_control.files import FileFault, dump_sps, dump_sts, load_sps, load_sts


def upstream(name: str) -> ModuleType:
    """A module of SGLang by its file: importing the package would start half an engine."""
    found = importlib.util.find_spec("sglang")
    if found is None or not found.submodule_search_locations:
        pytest.skip("SGLang is not installed")
    components = Path("srt/speculative/dspark_components")
    path = Path(found.submodule_search_locations[0]) / components / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"upstream_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "table",
    [
        SpsStepTable((1, 8, 64), (100.0, 1 / 3, 1e-7), 128),
        SpsAdditiveTable(0.01, (0, 8), (0.0, 1 / 3), (1, 512), (1e-7, 0.05)),
    ],
)
def test_sps_files(table: SpsTable, tmp_path: Path) -> None:
    sps = upstream("dspark_sps")
    path = tmp_path / "sps.json"
    path.write_bytes(dump_sps(table))
    theirs = sps.load_sps_table_from_path(str(path))
    assert type(theirs).__name__ == type(table).__name__.replace("SpsStep", "SpsCost").replace(
        "AdditiveTable", "AdditiveCostTable"
    )
    for name, value in vars(table).items():
        expected = list(value) if isinstance(value, tuple) else value
        assert getattr(theirs, name) == expected
    assert load_sps(theirs.to_json().encode()) == table


def test_the_table_of_an_uncalibrated_engine_loads() -> None:
    sps = upstream("dspark_sps")
    table = load_sps(sps.build_uninitialized_sps_table(max_batch_tokens=64).to_json().encode())
    assert table == SpsStepTable((1,), (1.0,), 64)


def test_we_refuse_at_least_what_sglang_refuses() -> None:
    sps = upstream("dspark_sps")
    for text in (
        '{"sample_batch_tokens":[],"sample_steps_per_sec":[],"max_batch_tokens":1}',
        '{"sample_batch_tokens":[2,1],"sample_steps_per_sec":[1,1],"max_batch_tokens":2}',
        '{"sample_batch_tokens":[1],"sample_steps_per_sec":[1,1],"max_batch_tokens":2}',
        '{"sample_batch_tokens":[4],"sample_steps_per_sec":[1],"max_batch_tokens":2}',
    ):
        with pytest.raises(Exception, match=r"requires|increasing|equal|largest"):
            sps.SpsCostTable.from_json(text)
        with pytest.raises(FileFault):
            load_sps(text.encode())


def test_sts_files(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    sts = upstream("dspark_sts")
    for table in (
        StsTable((1.0, 1 / 3)),
        StsTable((0.5,), "math é", 12, (0.25,), (0.125,)),
    ):
        path = tmp_path / "sts.json"
        path.write_bytes(dump_sts(table))
        theirs = sts.load_sts_calibration_from_path(str(path))
        assert theirs.temperatures == list(table.temperatures)
        assert (theirs.dataset, theirs.num_samples) == (table.dataset, table.num_samples)
        assert load_sts(theirs.to_json().encode()) == table
        assert theirs.to_json().encode() == dump_sts(table)
