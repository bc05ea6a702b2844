"""Pages of the documentation that are written from results: ``python -m manifold_oos.reporting.pages.NAME``."""
