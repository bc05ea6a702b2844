"""CPU time of the command's first words over that of ``python -c pass``: python benchmarks/startup.py.

Commands that check parameters import scikit-learn, whose own import is printed beside them and bounds them.
"""

import resource
import statistics
import subprocess
import sys

COMMANDS = {
    "import sklearn.base": ["-c", "import sklearn.base"],
    "moos --version": ["-m", "manifold_oos", "--version"],
    "moos --help": ["-m", "manifold_oos", "--help"],
    "moos list extenders": ["-m", "manifold_oos", "list", "extenders"],
    "moos list datasets": ["-m", "manifold_oos", "list", "datasets"],
    "moos describe lle": ["-m", "manifold_oos", "describe", "extenders/lle"],
    "moos run --dry-run": ["-m", "manifold_oos", "run", "configs/quickstart.yaml", "--dry-run"],
}


def cpu(arguments: list[str]) -> float:
    """CPU seconds of a new interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    base = statistics.median(cpu(["-c", "pass"]) for _ in range(9))
    for name, arguments in COMMANDS.items():
        spent = statistics.median(cpu(arguments) for _ in range(5))
        print(f"{name:22} {spent / base:6.1f} × python -c pass")


if __name__ == "__main__":
    main()
