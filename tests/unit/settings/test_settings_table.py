"""The table in the README is made from the settings themselves."""

import dataclasses

from dspark_sglang.settings import Settings, load_settings, settings_table


def test_one_row_with_a_meaning_for_each_field():
    rows = settings_table()
    assert [row.name for row in rows] == [field.name for field in dataclasses.fields(Settings)]
    assert all(row.meaning.endswith(".") and row.default for row in rows)


def test_each_variable_of_the_table_is_one_that_the_loader_reads():
    for row in settings_table():
        load_settings({row.variable: ""})  # an unknown one would raise


def test_the_table_does_not_depend_on_the_machine(monkeypatch):
    before = settings_table()
    monkeypatch.setenv("XDG_STATE_HOME", "/elsewhere")
    assert settings_table() == before
    defaults = {row.name: row.default for row in before}
    assert defaults["heartbeat_seconds"] == "5"
    assert defaults["upstream_worker"] == "false"
    assert defaults["control_endpoint"] == "none"
