"""``python -m gpuprims``: the command line."""

from gpuprims.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
