"""What an agent may ask for: one typed action, its target, a one-line reason, and what the model call cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from deskcert_core.budget import Usage

__all__ = ["ActionType", "FinalStatus", "Proposal", "Target", "Usage"]

FinalStatus = Literal["success", "failure", "needs_help"]


class ActionType(StrEnum):
    """Playwright's names. The last three are never executed: an agent may propose them, policy answers."""

    GOTO = "goto"
    GO_BACK = "go_back"
    GO_FORWARD = "go_forward"
    RELOAD = "reload"
    CLICK = "click"
    DBLCLICK = "dblclick"
    RIGHT_CLICK = "right_click"
    HOVER = "hover"
    DRAG_TO = "drag_to"
    FILL = "fill"
    TYPE = "type"
    PRESS = "press"
    SELECT_OPTION = "select_option"
    CHECK = "check"
    UNCHECK = "uncheck"
    SCROLL = "scroll"
    WAIT_FOR = "wait_for"
    READ = "read"
    SCREENSHOT = "screenshot"
    NEW_TAB = "new_tab"
    SWITCH_TAB = "switch_tab"
    CLOSE_TAB = "close_tab"
    SUBMIT_FORM = "submit_form"
    SET_INPUT_FILES = "set_input_files"
    SAVE_DOWNLOAD = "save_download"
    HANDLE_DIALOG = "handle_dialog"
    FINISH = "finish"
    SHELL_COMMAND = "shell_command"
    PACKAGE_INSTALL = "package_install"
    FILE_DELETE = "file_delete"


NEVER_EXECUTED = frozenset({ActionType.SHELL_COMMAND, ActionType.PACKAGE_INSTALL, ActionType.FILE_DELETE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where to act: exactly one of selector, role (with name), label, text, test_id, ref, or the point x, y (CSS pixels of the viewport)."""

    selector: str | None = None
    role: str | None = None
    name: str | None = None
    label: str | None = None
    text: str | None = None
    test_id: str | None = None
    ref: str | None = None
    x: float | None = None
    y: float | None = None

    def __str__(self) -> str:
        if self.x is not None:
            return f"point {self.x:g},{self.y:g}"
        if self.role is not None:
            return f"{self.role} {self.name!r}" if self.name is not None else self.role
        kind, value = next((k, v) for k in ("selector", "label", "text", "test_id", "ref") if (v := getattr(self, k)) is not None)
        return f"{kind} {value!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One proposed act. Which of the optional fields an action takes is said in `schema/proposal.schema.json`.

    `value` is the text of fill and type, the key of press, the option of select_option, the command of the never-executed three.
    `safety_checks` are what the model's provider wants a person to look at first: they make an approval necessary, whatever the policy says.
    `decision_summary` is the agent's own one-line claim: recorded, compared with the effect, never believed.
    """

    action_type: ActionType
    target: Target | None = None
    value: str | None = None
    url: str | None = None
    files: tuple[str, ...] = ()
    delta_x: float = 0
    delta_y: float = 0
    timeout_seconds: float | None = None
    accept: bool | None = None
    to: Target | None = None
    final_status: FinalStatus | None = None
    answer: str | None = None
    safety_checks: tuple[str, ...] = ()
    decision_summary: str = ""
    usage: Usage | None = None
