"""``python -m gpuprims`` and ``gpuprims``: the command line."""

from gpuprims.terminal import run_command


def main() -> int:
    """Run the command line, whose imports take half a second, in which Ctrl-C may come too."""
    return run_command(_main)


def _main() -> int:
    from gpuprims.cli import main

    return main()


if __name__ == "__main__":
    raise SystemExit(main())
