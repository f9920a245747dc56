"""``python -m annotated_transformer`` is the command line."""

import os
import signal
import sys


def main() -> None:
    """Run the command line; Ctrl-C while the modules are loaded ends it silently."""
    if sys.getfilesystemencoding() != "utf-8":  # a locale such as C; arguments are UTF-8
        program = [sys.executable, "-X", "utf8", "-m", "annotated_transformer"]
        os.execv(sys.executable, [*program, *sys.argv[1:]])
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from annotated_transformer import cli

    signal.signal(signal.SIGINT, before)
    cli.main()


if __name__ == "__main__":
    main()
