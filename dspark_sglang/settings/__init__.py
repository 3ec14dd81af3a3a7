"""How a worker is configured: one frozen object, read once at start."""

from dspark_sglang.settings.load import default_worker_id, load_settings
from dspark_sglang.settings.model import Settings, SettingsError
from dspark_sglang.settings.table import SettingRow, settings_table

__all__ = [
    "SettingRow",
    "Settings",
    "SettingsError",
    "default_worker_id",
    "load_settings",
    "settings_table",
]
