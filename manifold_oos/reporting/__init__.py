"""From rows to what a person reads: tables, figures, the regression check."""
