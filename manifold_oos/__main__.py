"""``python -m manifold_oos`` is the command ``moos``."""

from manifold_oos.cli import main

if __name__ == "__main__":
    main()
