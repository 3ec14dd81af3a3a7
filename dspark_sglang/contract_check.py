"""Checks by reflection whether the installed SGLang still has what `contract` names.

Nothing of SGLang is called: owners are imported, signatures and fields are read.
"""

import dis
import inspect
import pkgutil
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any

from dspark_sglang.contract_types import Need


def faults(needs: Iterable[Need]) -> list[str]:
    """One sentence for each need that the installed SGLang does not meet."""
    found = map(fault, needs)
    return [text for text in found if text is not None]


def fault(need: Need) -> str | None:
    """Why the installed SGLang does not meet `need`, None when it does."""
    owner_path, name = need.path.rsplit(".", 1)
    try:
        owner = pkgutil.resolve_name(owner_path)
    except (ImportError, AttributeError) as error:
        return f"{need.path}: {owner_path} cannot be found ({error})"
    if need.kind == "field":
        return None if _has_field(owner, name) else f"{need.path}: no such field"
    if not callable(getattr(owner, name, None)):
        return f"{need.path}: no such function"
    return _parameter_fault(need, getattr(owner, name))


def _parameter_fault(need: Need, function: Any) -> str | None:
    theirs = tuple(p for p in inspect.signature(function).parameters if p != "self")
    if need.kind == "override" and theirs != need.parameters:
        return f"{need.path}: parameters are {theirs}, expected {need.parameters}"
    missing = [name for name in need.parameters if name not in theirs]
    return f"{need.path}: no parameters {missing}" if missing else None


def _has_field(owner: Any, name: str) -> bool:
    if hasattr(owner, name) or name in getattr(owner, "__annotations__", {}):
        return True
    return inspect.isclass(owner) and name in set(_assigned_fields(owner))


def _assigned_fields(owner: type) -> Iterator[str]:
    """Names that methods of `owner` or its bases assign on `self`, read from bytecode."""
    for base in inspect.getmro(owner):
        for member in filter(callable, vars(base).values()):
            code = getattr(inspect.unwrap(member), "__code__", None)
            if isinstance(code, CodeType):
                yield from _assigned_names(code)


def _assigned_names(code: CodeType) -> Iterator[str]:
    """Attributes that `code` stores, and the buffers of a torch module that it registers."""
    steps = dis.get_instructions(code)
    yield from (step.argval for step in steps if step.opname == "STORE_ATTR")
    if "register_buffer" in code.co_names:
        yield from (text for text in code.co_consts if isinstance(text, str))
