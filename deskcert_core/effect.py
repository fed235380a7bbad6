"""What a proposal would really hit, and the effect labels that follow. Built from the page, never from what the agent says."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from deskcert_core.address import Address, Origin

__all__ = ["Box", "Effect", "Element", "Field", "Form", "Grounding", "Label", "Request", "Unknown"]

LABELS = (
    "external_navigation", "form_submit", "download", "upload", "popup", "dialog", "payment", "password_change", "credential_entry",
    "send_message", "delete_record", "file_delete", "shell_command", "package_install",
)
Label = str
WRITE_METHODS_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Unknown(Enum):
    """A fact that could not be read. Policy takes the strictest reading of it."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """CSS pixels of the viewport."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One control of a form; `value` is what would be sent, None for a file or a password (never recorded)."""

    name: str
    kind: str
    autocomplete: str = ""
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A form as it would be sent by this act: action and method after the submitter's overrides."""

    action: Address | None
    method: str
    enctype: str = "application/x-www-form-urlencoded"
    new_window: bool = False
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """The element an act would land on. `name` is the accessible name, `text` its visible text (both cut at 200 characters).

    `selectors` are those selectors of the policy that match it or an ancestor; `covered_by` names what lies on it, if anything does.
    """

    tag: str
    role: str = ""
    name: str = ""
    text: str = ""
    input_type: str = ""
    autocomplete: str = ""
    href: Address | None = None
    download: bool = False
    new_window: bool = False
    submits: bool = False
    origin: Origin | None = None
    box: Box | None = None
    covered_by: str | None = None
    selectors: tuple[str, ...] = ()
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounding:
    """What the executor found for a proposal. `element` is None where the action has no target or `problem` says why there is none.

    `element` UNKNOWN: there is something, but its facts cannot be read (a foreign frame). `form` is the form that this act would send.
    `destination` is the canonical URL of a goto. `secret_field_ok` is for the executor's own use of handles.
    """

    page: Address | None
    element: Element | Unknown | None = None
    form: Form | Unknown | None = None
    destination: Address | None = None
    problem: str | None = None
    problem_kind: Literal["missing", "ambiguous", "covered", "unusable"] | None = None
    point: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as the policy sees it. `fields` are the decoded pairs of a form or multipart body, UNKNOWN if there is a body that cannot be read,
    None if there is no body or it is no form; a value of None is one that is not known beforehand (a password, a file) and policy reads it as unknown.
    `navigation` is true for a load of the top document (Sec-Fetch-Dest: document)."""

    method: str
    address: Address
    fields: tuple[tuple[str, str | None], ...] | Unknown | None = None
    content_type: str = ""
    body_size: int | None = 0
    kind: Literal["http", "websocket"] = "http"
    navigation: bool = False

    @property
    def writes(self) -> bool:
        return self.method not in WRITE_METHODS_SAFE


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The effect of a proposal: labels that hold, labels that cannot be told, and the requests it is known to send."""

    labels: frozenset[Label] = frozenset()
    unclear: frozenset[Label] = frozenset()
    requests: tuple[Request, ...] = ()
