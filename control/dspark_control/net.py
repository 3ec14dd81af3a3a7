"""Addresses: which ones stay on this machine, and so may go without TLS."""

import ipaddress
from typing import NamedTuple


class Address(NamedTuple):
    """A host and a port; for a Unix socket the host is its whole `unix:` URI."""

    host: str
    port: int

    @property
    def is_unix(self) -> bool:
        """Whether it is a Unix socket."""
        return self.host.startswith("unix:")

    @property
    def is_loopback(self) -> bool:
        """Whether nobody but this machine can reach it."""
        if self.is_unix or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def parse_address(text: str) -> Address:
    """`host:port`, `[v6]:port`, `dns:///host:port` or `unix:path`; ValueError otherwise."""
    if text.startswith("unix:"):
        return Address(text, 0)
    host, colon, port = text.removeprefix("dns:///").rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    is_port = port.isascii() and port.isdigit() and int(port) <= 65_535
    if not (host and colon and is_port) or (":" in host and not is_bracketed):
        raise ValueError(
            f"address is {text!r}, but must be host:port with a port in 0..65535, such as "
            f"127.0.0.1:7400 or [::1]:7400"
        )
    return Address(host.strip("[]"), int(port))
