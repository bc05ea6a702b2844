"""Arms that a config writes as blocks: which there are, what they are given, and mistakes in them."""

import pytest

from manifold_oos.config.dump import config_text
from manifold_oos.config.load import load_config
from manifold_oos.errors import ConfigError
from manifold_oos.registry import available
from manifold_oos.resources import shipped

BLOCKS = """
dataset: digits
pairs:
  embedding: {n_components: 2}
  classifier: nn
  blocks:
    first: {embeddings: [kpca, {name: lpp, n_components: 3}], extenders: [own, {name: rbf, sigma: 1.0}]}
    second: {suffix: ", tuned", embeddings: lda, datasets: digits}
"""


@pytest.fixture
def write(tmp_path):
    def _write(text):
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return path

    return _write


def test_every_embedding_of_a_block_meets_every_extender(write):
    arms = load_config(write(BLOCKS)).arms
    assert list(arms) == ["kpca", "kpca + rbf", "lpp", "lpp + rbf", "lda, tuned"]
    assert arms["kpca + rbf"].embedding.parameters == {"n_components": 2}
    assert arms["lpp + rbf"].embedding.parameters == {"n_components": 3}
    assert arms["lpp + rbf"].extender.parameters == {"sigma": 1.0}
    assert arms["kpca"].extender is None and arms["kpca"].classifier.name == "nn"
    assert arms["lda, tuned"].datasets == ["digits"]


def test_arms_of_the_config_stand_before_its_pairs_and_a_block_can_be_left_out(write):
    text = BLOCKS.replace("    second:", "    third: null\n    second:") + "arms: {NN: {classifier: nn}}\n"
    assert list(load_config(write(text)).arms)[:2] == ["NN", "kpca"]


def test_a_written_config_has_the_arms_and_no_blocks(write, tmp_path):
    text = config_text(load_config(write(BLOCKS)))
    assert "pairs" not in text
    again = tmp_path / "again.yaml"
    again.write_text(text)
    assert load_config(again).arms == load_config(write(BLOCKS)).arms


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("suffix", "sufix"), "pairs.blocks.second.sufix: no such key; did you mean"),
        (("embeddings: lda", "embeddings: ldb"), "pairs"),
        (("{name: rbf, sigma: 1.0}", "{name: rbf, sgma: 1.0}"), "sgma"),
        (("blocks:", "bloks:"), "pairs.bloks: no such key"),
        (("embeddings: lda", "embeddings: []"), "pairs.blocks.second.embeddings"),
        (("embeddings: lda", "embeddings: suplap"), "pairs"),
    ],
)
def test_a_mistake_in_a_block_says_where_it_is(write, change, said):
    with pytest.raises(ConfigError) as error:
        load_config(write(BLOCKS.replace(*change)))
    lines = str(error.value).splitlines()
    assert said in lines[-1] and all("mine.yaml:" in line for line in lines) and len(lines) <= 2, lines


def test_the_grid_has_every_embedding_and_every_extender():
    experiment = load_config(shipped("configs") / "grid" / "every_pair.yaml")
    methods = [arm.methods() for arm in experiment.arms.values()]
    used = {stage: {arm[stage].name for arm in methods if stage in arm} for stage in ("embedding", "extender")}
    assert used["embedding"] == set(available("embeddings")) - {"precomputed"}
    assert used["extender"] == set(available("extenders"))
