"""The one way in which a command fails."""


class CtlError(Exception):
    """Refused or failed: printed as one line on stderr, exit code 1."""
