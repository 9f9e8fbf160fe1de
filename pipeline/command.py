"""The entry point of the command `newsburst`: Ctrl-C ends it in peace, also while it still loads."""

import sys


def main() -> None:
    """Run the command."""
    try:
        from pipeline.cli import main as command  # noqa: PLC0415 - what may take a second is done under the guard of this

        command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
