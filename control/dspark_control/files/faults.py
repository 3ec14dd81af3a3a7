"""The one error that loading a file can give."""


class FileFault(ValueError):
    """A file that cannot be used: one line that names file, field, value and remedy.

    Attributes:
        file: the file as the caller named it.
        field: the field at fault, empty when the file as a whole is.
        message: the sentence about the field.
    """

    def __init__(self, file: str, message: str, field: str = "") -> None:
        super().__init__(f"{file}: {message}")
        self.file = file
        self.field = field
        self.message = message
