"""``python -m gpuprims`` and ``gpuprims``: the command line."""

from gpuprims.cli.terminal import run_command


def main() -> int:
    """Run the command line. Ctrl-C is handled during its imports too, which take half a second."""
    return run_command(_main)


def _main() -> int:
    from gpuprims.cli.main import main

    return main()


if __name__ == "__main__":
    raise SystemExit(main())
