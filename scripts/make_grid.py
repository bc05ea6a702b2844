"""Write configs/grid/_arms.yaml: every embedding with every extender that supports it, joint methods also alone.

Run it after a method was added; a test keeps the file current.
"""

from pathlib import Path

from manifold_oos.atomic import write_text
from manifold_oos.embeddings.base import JointEmbedding
from manifold_oos.registry import available

PATH = Path(__file__).parent.parent / "configs" / "grid" / "_arms.yaml"
HEAD = """\
# Written by scripts/make_grid.py: every embedding with every extender that supports it, joint methods also alone.
# Parameters are the defaults of the methods; the dimension is one for all but the discriminants, which take theirs.
arms:
  NN: {classifier: nn}
  SVM: {classifier: svm}
  SSL: {classifier: gaussian_fields}
  MReg: {classifier: mreg}
"""
N_COMPONENTS = 20
OWN_DIMENSION = ("lda", "lfda", "lde")


def arms() -> str:
    """The YAML text of all arms."""
    lines = []
    for name, embedding in available("embeddings").items():
        spec = name if name in OWN_DIMENSION else f"{{name: {name}, n_components: {N_COMPONENTS}}}"
        extenders = [key for key, extender in available("extenders").items() if extender.supports(embedding)]
        if issubclass(embedding, JointEmbedding):
            lines.append(f"  {name}: {{embedding: {spec}, classifier: nn}}")
        lines += [f"  {name} + {key}: {{embedding: {spec}, extender: {key}, classifier: nn}}" for key in extenders]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(write_text(PATH, arms()))
