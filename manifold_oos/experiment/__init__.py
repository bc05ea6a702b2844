"""From a config to rows in the store: config, plan, splits, selection, runner, store, metrics."""
