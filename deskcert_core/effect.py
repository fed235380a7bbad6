"""What a proposal would really hit, and the effect labels that follow. Built from the page, never from what the agent says.

Labels that hang on words (words.py) err on the side of the label; they are a hint, no proof that there is no such effect.
Classifier plug-ins add labels, and the request gate sees what is really sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from deskcert_core.address import Address, Origin, OriginPattern, bare, with_query
from deskcert_core.proposal import Proposal
from deskcert_core.words import Label, hides, labels_of_fields, labels_of_words, plain, telling, unquoted, words

__all__ = ["Box", "Effect", "Element", "Field", "Form", "Grounding", "Label", "Request", "Unknown", "claim_mismatch", "classify"]

LABELS = (
    "external_navigation", "form_submit", "download", "upload", "popup", "dialog", "payment", "password_change", "credential_entry",
    "send_message", "delete_record", "file_delete", "shell_command", "package_install",
)
OWN_LABEL = {
    "submit_form": "form_submit", "save_download": "download", "set_input_files": "upload",
    "shell_command": "shell_command", "package_install": "package_install", "file_delete": "file_delete",
}
SHORT = 40  # characters of a caption
TEXT_LIMIT = 200  # characters of an element's name and text that the executor keeps
WRITE_METHODS_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
BUTTONS = frozenset({"submit", "image", "button", "reset"})
CHOICES = BUTTONS | {"hidden", "select", "select-one", "select-multiple", "radio", "checkbox"}
CONTROLS = frozenset({"a", "area", "button", "input", "summary", "link", "menuitem", "tab", "option", "switch"})
ENTER = frozenset({"enter", "numpadenter", "return", "\n", "\r"})
SPACE = frozenset({"space", ""})
OF_FORM = frozenset({"form_submit", "external_navigation", "popup", "payment", "password_change", "send_message", "delete_record"})


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
    """One control of a form; `value` is what would be sent. None: of the kind `password` never recorded, be it a password field or one that a secret was
    typed into; of any other kind it could not be read (a chosen file, a custom element, an image button), so that no grant covers what is sent."""

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
    `destination` is the canonical URL of a goto. `names` are those of the page's controls, and whatever else bears one (caption, label, accessible name,
    placeholder, title, alternative text), kept where no element matched and where the target is a point; None: not kept. `all_named`: nothing on the page
    could bear a name that is not in there (no picture, canvas, foreign frame, control without a name).
    """

    page: Address | None
    element: Element | Unknown | None = None
    form: Form | Unknown | None = None
    destination: Address | None = None
    problem: str | None = None
    problem_kind: Literal["missing", "ambiguous", "covered", "unusable"] | None = None
    names: tuple[str, ...] | None = None
    all_named: bool = False
    point: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as the policy sees it. `fields` are the decoded pairs of a form, a multipart body or a flat JSON object, UNKNOWN if there is a body
    that cannot be read so, None if there is no body; a value of None is one that is not known beforehand (a password, a file) and policy reads it as
    unknown. `files`: the value of a field may be a file's name, whose content came with it. `navigation` is true for a load of the top document
    (Sec-Fetch-Dest: document)."""

    method: str
    address: Address
    fields: tuple[tuple[str, str | None], ...] | Unknown | None = None
    content_type: str = ""
    body_size: int | None = 0
    kind: Literal["http", "websocket"] = "http"
    navigation: bool = False
    files: bool = False

    @property
    def writes(self) -> bool:
        return self.method not in WRITE_METHODS_SAFE


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The effect of a proposal: labels that hold, labels that cannot be told, and the requests it is known to send.

    `requests_unclear`: it may send others, which could not be read (an element or a form that is UNKNOWN). What scripts send is never here:
    the request gate decides on that.
    """

    labels: frozenset[Label] = frozenset()
    unclear: frozenset[Label] = frozenset()
    requests: tuple[Request, ...] = ()
    requests_unclear: bool = False


def classify(proposal: Proposal, grounding: Grounding, home: tuple[Origin | OriginPattern, ...]) -> Effect:
    """The effect of a proposal on what it was grounded to; `home` are the origins that are no external navigation."""
    action, element, form = proposal.action_type, grounding.element, grounding.form
    labels: set[Label] = {OWN_LABEL[action]} if action in OWN_LABEL else set()
    unclear: set[Label] = set()
    requests: list[Request] = []
    if action == "handle_dialog" and proposal.accept is not False:
        labels.add("dialog")
    if types_text(proposal):
        mark_credentials(element, labels, unclear)
    if grounding.destination:
        requests.append(Request(method="GET", address=grounding.destination, navigation=True))
    if activates(proposal, element):
        if action == "submit_form" and form is None and not grounding.problem:
            form = UNKNOWN
        if isinstance(element, Unknown):
            unclear |= OF_FORM | {"download"}
        elif element:
            followed = link_requests(element, grounding.page)
            labels |= element_labels(element, reads=bool(followed))
            requests += followed
        if isinstance(form, Unknown):
            unclear |= OF_FORM
        elif form and form.method.lower() != "dialog":
            labels |= form_labels(form)
            requests += form_requests(form)
    away = any(not at_home(request.address, home) for request in requests)
    labels |= {"external_navigation"} if away else set()
    hidden = "form_submit" in unclear or (isinstance(form, Form) and "form_submit" in labels and form.action is None)
    return Effect(labels=frozenset(labels), unclear=frozenset(unclear - labels), requests=tuple(requests), requests_unclear=hidden)


def key_of(proposal: Proposal) -> str:
    """The key of a press without its modifiers, in lower case."""
    return (proposal.value or "Enter").rpartition("+")[2].strip(" ").lower()


def activates(proposal: Proposal, element: Element | Unknown | None) -> bool:
    """Whether the act can set off the default action of what it hits: following a link, sending a form."""
    match proposal.action_type:
        case "click" | "dblclick" | "check" | "uncheck" | "submit_form":
            return True
        case "press":
            return key_of(proposal) in ENTER or (key_of(proposal) in SPACE and not (isinstance(element, Element) and is_field(element)))
        case "type":
            return "\n" in (proposal.value or "") or "\r" in (proposal.value or "")
        case _:
            return False


def types_text(proposal: Proposal) -> bool:
    return proposal.action_type in ("fill", "type") or (proposal.action_type == "press" and len(key_of(proposal)) <= 1)


def is_field(element: Element) -> bool:
    """Whether it takes a value, so that its name says what is asked for and not what it does."""
    return element.tag in ("textarea", "select", "option") or (element.tag == "input" and element.input_type not in BUTTONS)


def mark_credentials(element: Element | Unknown | None, labels: set[Label], unclear: set[Label]) -> None:
    if isinstance(element, Unknown):
        unclear.add("credential_entry")
    elif element and (element.input_type == "password" or element.autocomplete.endswith(("password", "one-time-code"))):
        labels.add("credential_entry")


def element_labels(element: Element, *, reads: bool) -> set[Label]:
    """What a control's own words and its link say. The long text of what is no control is content, not a caption."""
    labels: set[Label] = set()
    if element.download:
        labels.add("download")
    if element.new_window:
        labels.add("popup")
    if is_field(element):
        return labels
    control = element.href or element.submits or not CONTROLS.isdisjoint((element.tag, element.role))
    shown = [element.name, element.text if control or len(element.text) <= SHORT else ""]
    shown += [value for name, value in element.attributes.items() if name not in ("class", "style", "href", "src")]
    path = unquoted(element.href.path) if element.href else ""
    return labels | labels_of_words(words(" ".join([*shown, path])), writes=not reads)


def form_labels(form: Form) -> set[Label]:
    """What a form asks for, where it goes, and what is chosen in it, whatever its button is called."""
    path = unquoted(form.action.path) if form.action else ""
    chosen = [one for one in form.fields if one.kind in CHOICES]
    said = [f"{one.name} {one.value}" if one.value and (one.kind in BUTTONS or telling(one.value)) else one.name for one in chosen]
    labels = labels_of_words(words(" ".join([path, *said])), writes=form.method.upper() not in WRITE_METHODS_SAFE)
    labels |= labels_of_fields({part for one in form.fields for part in (one.name.lower(), *one.autocomplete.lower().split())})
    if sum(one.kind == "password" for one in form.fields) > 1:
        labels.add("password_change")
    return labels | {"form_submit"} | ({"popup"} if form.new_window else set())


def link_requests(element: Element, page: Address | None) -> list[Request]:
    """Following a link reads its address. A script, a place on the same page and what the page itself made are no requests."""
    href = element.href
    if href is None or href.origin.scheme == "javascript" or (element.download and href.origin.scheme == "data"):
        return []
    if page and (href.href.startswith(f"blob:{page.origin}/") or ("#" in href.href and bare(href) == bare(page))):
        return []
    return [Request(method="GET", address=href, navigation=True)]


def form_requests(form: Form) -> list[Request]:
    """What sending a form sends, as far as the page tells it."""
    if form.action is None or form.action.origin.scheme == "javascript":
        return []
    if form.method.upper() == "GET":
        pairs = tuple((crlf(one.name), crlf(one.value or "")) for one in form.fields)
        return [Request(method="GET", address=with_query(form.action, pairs), navigation=True)]
    fields = tuple((one.name, one.value) for one in form.fields)
    return [Request(method=form.method.upper(), address=form.action, fields=fields, content_type=form.enctype, body_size=None, navigation=True)]


def crlf(text: str) -> str:
    """The line ends that a form sends."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")


def at_home(address: Address, home: tuple[Origin | OriginPattern, ...]) -> bool:
    if address.origin.scheme == "about" and address.path in ("blank", "srcdoc"):
        return True
    return any(one.covers(address.origin) if isinstance(one, OriginPattern) else one == address.origin for one in home)


def claim_mismatch(claim: str, action_type: str, effect: Effect, grounding: Grounding) -> str | None:
    """One line if the agent claims something harmless and names nothing of what the act would do. A finding, never part of a decision."""
    labels = effect.labels | ({"write"} if any(request.writes for request in effect.requests) else set())
    happening = hides(claim, labels)
    if not happening:
        return None
    target = f" on {one.role or one.tag} {one.name!r}" if isinstance(one := grounding.element, Element) else ""
    return f"the agent says {plain(claim)!r}, but {action_type}{target} is {' and '.join(happening)}"
