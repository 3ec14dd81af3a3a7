"""The `config.json` of a checkpoint as it stands there, for decisions before SGLang reads it."""

import logging
from typing import Any

from transformers import PretrainedConfig

logger = logging.getLogger(__name__)

ConfigJson = dict[str, Any]


def read_config_json(path: str, revision: str | None) -> ConfigJson:
    """The decoded file of a folder or of a Hub repository.

    Empty when there is none: SGLang has its own words for that.
    """
    try:
        found, _ = PretrainedConfig.get_config_dict(path, revision=revision)
    except Exception as error:
        logger.debug("No config of %s was read: %s", path, error)
        return {}
    return dict(found)


def architectures(config: ConfigJson) -> list[str]:
    """The model classes that the config names."""
    return [str(name) for name in config.get("architectures") or ()]
