"""The scripts of the gallery run, and draw what the gallery shows."""

import runpy
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest
from PIL import Image

matplotlib.use("Agg")
GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
SCRIPTS = sorted(GALLERY.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
@pytest.mark.filterwarnings("ignore")
def test_script(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    plt.close("all")
    assert capsys.readouterr().out.strip()
    with Image.open(tmp_path / f"{script.stem}.png") as drawn, Image.open(script.with_suffix(".png")) as shown:
        assert drawn.size == shown.size
        assert len(drawn.convert("L").getcolors()) > 20  # not an empty frame


def test_every_script_is_on_the_page_with_its_picture():
    text = (GALLERY / "index.md").read_text(encoding="utf-8")
    assert len(SCRIPTS) == 5
    for script in SCRIPTS:
        assert f"]({script.name})" in text and f"]({script.stem}.png)" in text
    assert sum(path.stat().st_size for path in GALLERY.glob("*.png")) < 5e5
