"""Runs the command ``ptx-atomics``: ``python -m ptx_atomics check kernel.ptx``."""

import os
import sys

from . import _command


def main() -> None:
    try:
        command = _command.path()
    except _command.Error as error:
        sys.exit(f"error: {error}")
    os.execve(command, [_command.NAME, *sys.argv[1:]], _command.environment())


if __name__ == "__main__":
    main()
