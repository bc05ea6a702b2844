"""Runs an experiment: validated config, plan, splits, choice of parameters, trials, store and metrics.

The way through it::

    experiment = loading.load_config(path, overrides)  # config.Experiment, or every error of the file at once
    plan = plan.make_plan(experiment, data_dir=None)  # plan.Plan: lines (arm × split × protocol), trials, absent
    store = store.Store("results")  # one SQLite file per results root
    summary = runner.run_experiment(experiment, out="results", workers=2)
    store.rows(plan)  # DataFrame, columns in rows.COLUMNS; no times
    store.timings(plan)  # DataFrame, the same columns, metrics in seconds and ms
    store.failures(plan)  # DataFrame: arm, dataset, size, repetition, message, file
"""
