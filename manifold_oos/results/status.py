"""How far each table and figure of a paper is reproduced: one word per output, with the counts behind it."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from manifold_oos.config.model import Output
from manifold_oos.errors import ConfigError
from manifold_oos.results.claims import ClaimResult
from manifold_oos.results.collect import Results
from manifold_oos.results.judges import FAILS, HOLDS, NO_DATA, UNDECIDED
from manifold_oos.results.published import COMPATIBLE, MATCH, NOISY
from manifold_oos.results.tables import make_tables, name_of

#: Word, sign and meaning, in the order of the key on the front page.
STATES = {
    "reproduced": ("✓", "every number that the paper prints is matched and every claim holds"),
    "differs": ("✗", "a number is better or worse than printed, or a claim fails"),
    "undecided": (
        "?",
        "nothing speaks against it, but an interval is too wide to decide, or a number is only compatible",
    ),
    "partly run": ("◐", "nothing speaks against it, but some of it was not run"),
    "stand-in": ("≈", "shown on other data than the paper's: not a reproduction"),
    "shown": ("·", "drawn; the paper prints no number and makes no claim to compare with"),
    "data absent": ("∅", "its data are not at hand"),
    "not run": ("–", "nothing was computed yet"),
}
TEXT = "Text"


@dataclass(frozen=True)
class State:
    """What became of one output: ``word`` is a key of :data:`STATES`, ``detail`` the counts."""

    name: str
    title: str
    word: str
    detail: str = ""

    @property
    def sign(self) -> str:
        """One character."""
        return STATES[self.word][0]


def mentioned(source: str) -> set[str]:
    """The tables and figures that a source names.

    Examples
    --------
    >>> sorted(mentioned("§5.3, Figs. 6–7 and Table 2"))
    ['Fig. 6', 'Fig. 7', 'Table 2']
    """
    found: set[str] = set()
    for kind, numbers in re.findall(
        r"(Tab|Fig)\w*\.?\s*(\d+[a-z]?(?:\s*(?:,|–|-|and|to)\s*\d+[a-z]?)*)", source, re.IGNORECASE
    ):
        word = "Table" if kind.lower() == "tab" else "Fig."
        for first, last in re.findall(r"(\d+[a-z]?)(?:\s*(?:–|-|to)\s*(\d+))?", numbers):
            if last and first.isdigit():
                found.update(f"{word} {number}" for number in range(int(first), int(last) + 1))
            else:
                found.add(f"{word} {first}")
    return found


def states_of(results: Results) -> list[State]:
    """The state of every output of a config, and of the claims that belong to none."""
    grouped: dict[str, list[Output]] = {}
    for output in results.experiment.outputs:
        grouped.setdefault(name_of(output), []).append(output)
    states = []
    used: set[int] = set()
    for name, outputs in grouped.items():
        mine = [claim for claim in results.claims if _names(name, mentioned(claim.claim.source))]
        used.update(id(claim) for claim in mine)
        title = next((output.title for output in outputs if output.title), "")
        states.append(_judge(results, name, title, outputs, mine))
    rest = [claim for claim in results.claims if id(claim) not in used]
    if rest:
        states.append(_judge(results, TEXT, "claims made in the text", [], rest))
    return states


def pending(names: Iterable[tuple[str, str]], absent: Sequence[str]) -> list[State]:
    """The states of an experiment that was not run."""
    word = "data absent" if absent else "not run"
    return [State(name, title, word, ", ".join(absent)) for name, title in names]


def _names(name: str, mentions: set[str]) -> bool:
    """Whether a source names an output; "Fig. 7" and "Fig. 7a" name each other."""
    whole, *panels = (re.sub(r"(?<=\d)[a-z]$", "", mention) for mention in (name, *mentions))
    return name in mentions or whole in mentions or name in panels


def _judge(
    results: Results, name: str, title: str, outputs: Sequence[Output], claims: Sequence[ClaimResult]
) -> State:
    verdicts: Counter[str] = Counter()
    missing = total = 0
    for output in outputs:
        if output.table is None:
            continue
        try:
            tables = make_tables(results, [output])
        except ConfigError:
            tables = []
        for entry in (entry for table in tables for line in table.lines for entry in line.entries):
            total += 1
            missing += not entry.splits
            if math.isfinite(entry.published) and entry.verdict:
                verdicts[entry.verdict] += 1
    said = Counter(claim.verdict for claim in claims if not claim.part_of)
    labels = {label for output in outputs for label in output.dataset or ()} or {
        data.label for data in results.experiment.views_of()
    }
    seen = set(results.cells["dataset"]) & labels
    stand_ins = [data.label for data in results.experiment.datasets if data.label in labels and data.stand_in]
    parts = [f"{count} {word}" for word, count in verdicts.items()]
    parts += [f"claims: {', '.join(f'{count} {word}' for word, count in said.items())}"] if said else []
    parts += [f"{missing} of {total} cells empty"] if missing else []
    parts += (
        [f"data absent: {', '.join(sorted(labels & set(results.absent)))}"] if labels & set(results.absent) else []
    )
    if not seen:
        word = "data absent" if labels <= set(results.absent) else "not run"
    elif verdicts["better"] or verdicts["worse"] or said[FAILS]:
        word = "differs"
    elif stand_ins and set(stand_ins) >= seen:
        word = "stand-in"
    elif said[UNDECIDED] or verdicts[NOISY] or verdicts[COMPATIBLE]:
        word = "undecided"
    elif missing or said[NO_DATA] or labels - seen:
        word = "partly run"
    elif verdicts[MATCH] or said[HOLDS]:
        word = "reproduced"
    else:
        word = "shown"
    return State(name, title, word, "; ".join(parts))
