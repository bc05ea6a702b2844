"""What every shipped config would run; ``python tests/helpers/golden.py`` writes config/plans.txt anew."""

import json
from pathlib import Path

from manifold_oos import datasets
from manifold_oos.config.load import load_config
from manifold_oos.config.values import Facts, Grid, settle
from manifold_oos.engine.keys import facts_key
from manifold_oos.engine.plan import make_plan
from manifold_oos.engine.splits import DataFacts, DataRef, count_known
from manifold_oos.resources import shipped, shipped_configs

GOLDEN = Path(__file__).parents[1] / "config" / "plans.txt"
COUNTS = (50,) * 60


def made_up(data):
    """Facts of a set large enough for every split, so that no data are needed."""
    options = datasets.find(data.name).check(data.options)
    width = 2 if data.name == "two_manifolds" else 200
    known = DataFacts(
        data.name, "", "", sum(COUNTS), width, len(COUNTS), class_counts=COUNTS, parameters=("arc_length",)
    )
    return facts_key(DataRef(data.label, data.name, options)), known


def plain(value):
    return {"grid": value.values, "default": value.default} if isinstance(value, Grid) else str(value)


def planned(name):
    """The data sets and protocols of a config, then each arm with its parameters settled and where it is run."""
    experiment = load_config(shipped("configs") / name)
    plan = make_plan(experiment, offline=True, known=dict(map(made_up, experiment.datasets)))
    heads, runs = {}, {}
    for trial in plan.trials:
        split = trial.split
        n_train = count_known(split.split, split.size, plan.facts[split.data.label])
        facts = Facts(split.data.label, n_train, len(COUNTS), 200)
        data = [split.data.label, split.data.name, split.data.options, split.split.kind, split.split.seed]
        heads[text(data)] = None
        for line in trial.lines:
            request = plan.request(line, plan.metrics)
            stages = {
                stage: {"name": method.name, **settle(method.parameters, facts)}
                for stage, method in request.arm.methods().items()
            }
            rules = request.protocol.rules if request.protocol else {}
            how = [line.selection, rules, request.cv.model_dump(), request.score, plan.metrics]
            heads[text(how)] = None
            where = runs.setdefault(text([line.arm, line.selection, request.arm.batch, stages]), {})
            place = f"{line.dataset} {line.size:g}"
            where[place] = where.get(place, 0) + 1
    shown = [f"{arm} at {', '.join(f'{place} ×{n}' for place, n in where.items())}" for arm, where in runs.items()]
    return [f"# {name}", *heads, *shown]


def text(value):
    return json.dumps(value, default=plain, sort_keys=True, ensure_ascii=False)


def golden_text():
    return "\n".join(line for name in shipped_configs() for line in planned(name)) + "\n"


if __name__ == "__main__":
    GOLDEN.write_text(golden_text(), encoding="utf-8")
