"""``python -m annotated_transformer`` is the command line."""

import signal


def main() -> None:
    """Run it; Ctrl-C ends it without a word until all is loaded."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from annotated_transformer import cli

    signal.signal(signal.SIGINT, before)
    cli.main()


if __name__ == "__main__":
    main()
