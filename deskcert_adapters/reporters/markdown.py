"""The report for a pull request or a wiki: the same words as the console's, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deskcert_adapters.reporters.wording import clean, figures, heading, passed_of, records, row_of, shown_steps
from deskcert_core.api import Evidence, Report, TrialCard

__all__ = ["Markdown"]

MARK = {"pass": "✓", "fail": "✗", "inconclusive": "?"}
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!~$&@]|:(?=//)|(?<=www)\.)")


class Markdown:
    """`--report markdown=PATH`."""

    deskcert_api = 1
    suffix = "md"

    def render(self, report: Report) -> str:
        card = report.card
        lines = [f"# {card.verdict}: {plain(card.suite)}", "", f"{passed_of(card.trials)}, score {card.score:g}, exit code {int(card.exit_code)}.", ""]
        lines += [f"- **{plain(problem)}**" for problem in card.problems]
        for trial, evidence in zip(card.trials, report.evidence, strict=True):
            lines += [*trial_lines(trial, evidence), ""]
        lines += ["## The run", "", *(f"- {label}: {plain(value)}" for label, value in report.facts), f"- run: {plain(report.folder)}", ""]
        lines += ["## What this report does not cover", "", *(f"- {plain(line)}" for line in card.not_covered), ""]
        return "\n".join(lines)


def trial_lines(trial: TrialCard, evidence: Evidence) -> Iterator[str]:
    yield from (f"## {plain(trial.task_id)} #{trial.trial}: {plain(heading(trial))}", "", figures(trial), "")
    if trial.final_answer is not None:
        yield from (f"Answer: {plain(trial.final_answer)}", "")
    if trial.failure.reason:
        yield from (f"Why: {proved(trial.failure.reason, trial.failure.records)}", "")
    if trial.findings:
        yield from (*(f"- {proved(f'{each.kind}: {each.message}', each.records)}" for each in trial.findings), "")
    yield from ("| | assertion | judgement |", "|---|---|---|")
    for each in trial.assertions:
        yield f"| {MARK[each.judgement.outcome]} | {plain(each.type)} {plain(each.shown)} | {plain(each.judgement.message)} |"
    yield from ("", "| step | act | decision | result |", "|---|---|---|---|")
    left_out, rest = shown_steps(evidence)
    if left_out:
        yield f"| … | {left_out} steps before | | |"
    yield from (f"| {' | '.join(map(plain, row_of(step)))} |" for step in rest)


def proved(text: str, seqs: tuple[int, ...]) -> str:
    where = records(seqs)
    return f"{plain(text)} ({where})" if where else plain(text)


def plain(text: str) -> str:
    """Text of pages and agents as text: no markup, no link, no mention."""
    return SPECIAL.sub(r"\\\1", clean(text))
