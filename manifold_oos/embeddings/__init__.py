"""Embeddings: where the training points go. One file per method family; see ``moos list embeddings``."""
