"""Finds the results that a person means: by the config that was run, or by the folder that a run wrote."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from manifold_oos.errors import ConfigError
from manifold_oos.experiment.config import Experiment
from manifold_oos.experiment.loading import load_config
from manifold_oos.experiment.store import FILE, Store
from manifold_oos.reporting.outputs import collect
from manifold_oos.reporting.results import Results


@dataclass(frozen=True)
class Located:
    """An experiment, the results root that has its store, and the folder of its files."""

    experiment: Experiment
    root: Path
    folder: Path

    def collect(self, data_dir: Path | None = None) -> Results:
        """Everything that the store has of it.

        Parameters
        ----------
        data_dir : Path, optional
            Where the data are.

        Returns
        -------
        Results
            With rows; an experiment without any is an error.
        """
        if not (self.root / FILE).is_file():
            raise ConfigError(f"{self.root}: no results here; moos run {self._again} first, or give --out")
        with Store(self.root) as store:
            results = collect(self.experiment, store, folder=self.folder, data_dir=data_dir)
        if results.rows.empty and set(results.absent) != {data.label for data in self.experiment.datasets}:
            where = f"no rows of the code as it is in {self.root / FILE}"
            raise ConfigError(f"{self.experiment.name}: {where}; moos run {self._again} first")
        return results

    @property
    def _again(self) -> str:
        return str(self.experiment.path or self.experiment.name)


def locate(target: str | Path, out: str | Path = "results", overrides: Iterable[str] = ()) -> Located:
    """Find the results of a config, or the experiment of a results folder.

    Parameters
    ----------
    target : path
        A config, or a folder that a run wrote (with ``config.yaml`` in it).
    out : path, default="results"
        The results root of a config.
    overrides : iterable of str
        As ``--set`` takes them.

    Returns
    -------
    Located
        Where everything is.
    """
    folder = Path(target)
    if not folder.is_dir():
        experiment = load_config(target, overrides)
        return Located(experiment, Path(out), Path(out) / experiment.name)
    config = folder / "config.yaml"
    if not config.is_file():
        raise ConfigError(f"{folder}: not a folder of results (no config.yaml in it)")
    root, name = _root(folder)
    return Located(load_config(config, overrides).named(name, config), root, folder)


def _root(folder: Path) -> tuple[Path, str]:
    """The nearest folder above with a store, and the path below it."""
    whole = folder.resolve()
    for parent in whole.parents:
        if (parent / FILE).is_file():
            return parent, whole.relative_to(parent).as_posix()
    return whole.parent, whole.name
