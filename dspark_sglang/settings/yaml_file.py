"""Reads a YAML mapping strictly: UTF-8, bounded in size, no key twice."""

from collections.abc import Mapping
from pathlib import Path

import yaml

MAX_BYTES = 1 << 20


class YamlFileError(ValueError):
    """The file cannot be used; the message names it, what is wrong and the remedy."""


class _StrictLoader(yaml.SafeLoader):
    """A safe YAML loader to which a key given twice is an error, not the last one wins."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands there twice", node.start_mark
                )
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Mapping[object, object]:
    """The mapping in the file, empty for an empty file; raises YamlFileError."""
    try:
        content = yaml.load(_read_text(path), _StrictLoader)
    except YamlFileError:
        raise
    except OSError as error:
        reason = f"cannot be read ({error.strerror}): correct the path or unset the variable"
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8 (byte {error.start}): save it as UTF-8"
    except (yaml.YAMLError, RecursionError, TypeError, ValueError) as error:
        reason = f"is not valid YAML: {' '.join(str(error).split())}"
    else:
        if content is None or isinstance(content, dict):
            return content or {}
        reason = "does not hold a mapping: write lines like 'control_endpoint: 127.0.0.1:7400'"
    raise YamlFileError(f"{str(path)!r} {reason}")


def _read_text(path: Path) -> str:
    with path.open("rb") as stream:
        raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise YamlFileError(f"{str(path)!r} is larger than {MAX_BYTES} bytes: name a settings file")
    return raw.decode()
