"""The package as a library: what can be imported from where, without paying for it before it is used."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import manifold_oos
from manifold_oos.registry import KINDS, available

ROOT = Path(__file__).parents[1]


def test_importing_the_package_imports_nothing_heavy():
    code = (
        "import sys, manifold_oos, manifold_oos.embeddings, manifold_oos.extenders, manifold_oos.classifiers\n"
        "names = dir(manifold_oos)\n"
        "assert {'OutOfSample', 'SOSI', 'load'} <= set(names), names\n"
        "print([name for name in ('numpy', 'scipy', 'sklearn', 'pandas') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", KINDS.values())
def test_every_method_can_be_imported_from_its_folder(kind):
    package = importlib.import_module(f"manifold_oos.{kind}")
    methods = {cls.__name__: cls for cls in available(kind).values()}
    assert set(package.__all__) - set(methods) <= {"Embedding", "JointEmbedding", "Extender", "Classifier"}
    for name, cls in methods.items():
        assert getattr(package, name) is cls and name in dir(package)
    with pytest.raises(AttributeError, match=f"manifold_oos.{kind}' has no attribute 'Nothing'"):
        _ = package.Nothing


def test_the_names_of_the_package():
    for name in manifold_oos.__all__:
        assert getattr(manifold_oos, name).__name__ == name
    from manifold_oos import SOSI, OutOfSample, load
    from manifold_oos.pipeline import load as load_of_pipeline

    assert OutOfSample(extender=SOSI()).extender.name == "sosi" and load is load_of_pipeline


def test_types_are_shipped():
    assert (Path(manifold_oos.__file__).parent / "py.typed").is_file()
