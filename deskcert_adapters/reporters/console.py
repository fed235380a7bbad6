"""The report for a terminal: 80 columns, the verdict first, then why, then what it does not say."""

from __future__ import annotations

from io import StringIO
from typing import Literal

from rich.console import Console as Terminal
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deskcert_adapters.reporters.wording import clean, figures, heading, passed_of, records, row_of, shown_steps
from deskcert_core.api import AssertionCard, Evidence, Report, TrialCard

__all__ = ["Console"]

WIDTH = 80
STYLE = {"PASS": "bold green", "FAIL": "bold red", "INCONCLUSIVE": "bold yellow"}
MARK = {"pass": ("✓", "green"), "fail": ("✗", "red"), "inconclusive": ("?", "yellow")}
RESULT_STYLE = {"success": "", "not_executed": "yellow"}


class Console:
    """`--report console`. `render` is plain text, `render_colour` the same with colours, for a terminal."""

    deskcert_api = 1
    suffix = "txt"

    def render(self, report: Report) -> str:
        return drawn(report, colour=False)

    def render_colour(self, report: Report) -> str:
        return drawn(report, colour=True)


def drawn(report: Report, *, colour: bool) -> str:
    out = StringIO()
    system: Literal["standard"] | None = "standard" if colour else None
    terminal = Terminal(file=out, width=WIDTH, color_system=system, force_terminal=colour, legacy_windows=False, _environ={})
    pairs = zip(report.card.trials, report.evidence, strict=True)
    terminal.print(Group(headline(report), *(block for trial, evidence in pairs for block in trial_blocks(trial, evidence)), footer(report)))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def headline(report: Report) -> RenderableType:
    card = report.card
    line = Text.assemble(
        (card.verdict, STYLE[card.verdict]), f"  {clean(card.suite)} · {passed_of(card.trials)} · score {card.score:g} · exit code {int(card.exit_code)}",
    )
    return Group(line, *(hanging(Text("!", style="yellow"), Text(clean(problem))) for problem in card.problems), Text())


def trial_blocks(trial: TrialCard, evidence: Evidence) -> list[RenderableType]:
    title = Text.assemble((f"{clean(trial.task_id)} #{trial.trial}  ", "bold"), (heading(trial), STYLE[trial.verdict]))
    lines: list[RenderableType] = [labelled("answer", clean(trial.final_answer))] if trial.final_answer is not None else []
    if trial.failure.reason:
        lines.append(labelled("why", proved(trial.failure.reason, trial.failure.records)))
    lines += [labelled("also", proved(f"{each.kind}: {each.message}", each.records)) for each in trial.findings]
    body = [Text(figures(trial), style="dim"), *lines, Text(), *map(assertion, trial.assertions), Text(), steps(evidence)]
    return [title, *(Padding(line, (0, 0, 0, 2)) for line in body), Text()]


def proved(text: str, seqs: tuple[int, ...]) -> str:
    where = records(seqs)
    return f"{clean(text)} [{where}]" if where else clean(text)


def labelled(label: str, text: str) -> RenderableType:
    return hanging(Text(label.ljust(6), style="dim"), Text(text))


def hanging(mark: Text, text: Text) -> RenderableType:
    """The mark once, the text beside it however long it is."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(mark, text)
    return grid


def assertion(card: AssertionCard) -> RenderableType:
    mark, style = MARK[card.judgement.outcome]
    text = Text(f"{clean(card.type)} {clean(card.shown)}")
    if card.judgement.outcome != "pass":
        text.append(f"\n{proved(card.judgement.message, card.judgement.records)}", style="dim")
    return hanging(Text(mark, style=style), text)


def steps(evidence: Evidence) -> RenderableType:
    left_out, rest = shown_steps(evidence)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    table.add_column("act", ratio=1, overflow="fold")
    table.add_column("decision", width=30, overflow="fold")
    table.add_column("result", width=12, overflow="fold")
    if left_out:
        table.add_row("…", f"{left_out} steps before", "", "")
    for step in rest:
        number, act, decision, result = row_of(step)
        status = step.decision.status if step.decision else ""
        table.add_row(
            Text(number, style="dim"), Text(act), Text(decision, style="red" if status == "blocked" else ""), Text(result, style=RESULT_STYLE.get(result, "red"))
        )
    return table if evidence.steps else Text("the agent proposed nothing", style="dim")


def footer(report: Report) -> RenderableType:
    facts = Text(" · ".join(f"{label} {clean(value)}" for label, value in report.facts), style="dim")
    missing = [hanging(Text("-", style="dim"), Text(clean(line), style="dim")) for line in report.card.not_covered]
    head = [Text(), Text("This report does not cover", style="dim bold")] if missing else []
    return Group(facts, *head, *missing, Text(), Text(f"evidence: {clean(report.folder)}"))
