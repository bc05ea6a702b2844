"""Write configs/grid/_arms.yaml: every embedding with every extender that supports it, joint methods also alone.

Run it after a method was added; a test keeps the file current.
"""

from pathlib import Path

from manifold_oos.atomic import write_text
from manifold_oos.embeddings.base import JointEmbedding
from manifold_oos.registry import available

PATH = Path(__file__).parent.parent / "configs" / "grid" / "_arms.yaml"
HEAD = """\
# yaml-language-server: $schema=../schema.json
# Written by scripts/make_grid.py: every embedding with every extender that supports it, joint methods also alone.
# Parameters are the defaults of the methods. The dimension is one less than there are classes, and 6 for the local
# alignments, which need more neighbours than dimensions; for the same reason GOM and CP take LLE's matrix.
arms:
  NN: {classifier: nn}
  SVM: {classifier: svm}
  SSL: {classifier: gaussian_fields}
  MReg: {classifier: mreg}
"""
DIMENSIONS = {"ltsa": "6", "spline": "6", "lgrm": "6"}
EXTENDERS = {name: f"{{name: {name}, alignment: lle}}" for name in ("gom", "cp")}


def arms() -> str:
    """The YAML text of all arms."""
    lines = []
    for name, embedding in available("embeddings").items():
        if getattr(embedding, "package", None) or getattr(embedding, "needs_index", False):
            continue  # those of other libraries and of files
        spec = f"{{name: {name}, n_components: {DIMENSIONS.get(name, 'n_classes-1')}}}"
        extenders = [key for key, extender in available("extenders").items() if extender.supports(embedding)]
        if issubclass(embedding, JointEmbedding):
            lines.append(f"  {name}: {{embedding: {spec}, classifier: nn}}")
        for key in extenders:
            extender = EXTENDERS.get(key, key)
            lines.append(f"  {name} + {key}: {{embedding: {spec}, extender: {extender}, classifier: nn}}")
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(write_text(PATH, arms()))
