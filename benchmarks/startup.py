"""CPU time of the command's first words over that of ``python -c pass``: python benchmarks/startup.py.

Each has a cache of its own, empty the first time: what is read from the sources, and the data, are kept there
(README.md, Start-up). The import of scikit-learn, which a first time and every fit need, is printed beside them.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile

COMMANDS = {
    "import sklearn.base": ["-c", "import sklearn.base"],
    "moos --version": ["-m", "manifold_oos", "--version"],
    "moos --help": ["-m", "manifold_oos", "--help"],
    "moos list extenders": ["-m", "manifold_oos", "list", "extenders"],
    "moos list datasets": ["-m", "manifold_oos", "list", "datasets"],
    "moos describe lle": ["-m", "manifold_oos", "describe", "extenders/lle"],
    "moos run --dry-run": ["-m", "manifold_oos", "run", "configs/quickstart.yaml", "--dry-run"],
}


def cpu(arguments: list[str], cache: str = "") -> float:
    """CPU seconds of a new interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments], env=os.environ | {"MOOS_CACHE": cache}, capture_output=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    base = statistics.median(cpu(["-c", "pass"]) for _ in range(9))
    for name, arguments in COMMANDS.items():
        with tempfile.TemporaryDirectory() as cache:
            first, *later = (cpu(arguments, cache) for _ in range(6))
        spent = statistics.median(later)
        print(f"{name:22} {spent / base:6.1f} × python -c pass (the first time {first / base:.1f})", flush=True)


if __name__ == "__main__":
    main()
