"""What a proposal would really hit, and the effect labels that follow. Built from the page, never from what the agent says.

`WORDS` and `FIELDS` read English names: a hint that errs on the side of a label, not a proof that there is no effect.
Classifier plug-ins add labels, and the request gate sees what is really sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal
from unicodedata import category, normalize

from deskcert_core.address import Address, Origin, OriginPattern
from deskcert_core.proposal import Proposal

__all__ = [
    "Box", "Effect", "Element", "Field", "Form", "Grounding", "Label", "Request", "Unknown", "claim_mismatch", "classify", "plain", "unquoted", "words",
]

LABELS = (
    "external_navigation", "form_submit", "download", "upload", "popup", "dialog", "payment", "password_change", "credential_entry",
    "send_message", "delete_record", "file_delete", "shell_command", "package_install",
)
Label = str
OWN_LABEL = {
    "submit_form": "form_submit", "save_download": "download", "set_input_files": "upload",
    "shell_command": "shell_command", "package_install": "package_install", "file_delete": "file_delete",
}
TEXT_LIMIT = 200  # characters of an element's name and text that the executor keeps
WRITE_METHODS_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Unknown(Enum):
    """A fact that could not be read. Policy takes the strictest reading of it."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN

# What a control's own words, an address's path or a form's choices say; `FIELDS` what a form asks for.
WORDS: dict[Label, frozenset[str]] = {
    "payment": frozenset({"pay", "buy", "checkout", "purchase", "donate"}),
    "send_message": frozenset({"send", "reply", "forward", "invite", "broadcast", "tweet"}),
    "delete_record": frozenset({"delete", "remove", "destroy", "drop", "purge"}),
}
# Nouns: a link to the list of payments pays nothing, a form that writes to it does.
WRITTEN: dict[Label, frozenset[str]] = {
    "payment": frozenset({"payment", "payments"}),
    "send_message": frozenset({"message", "messages", "comment", "comments", "sms"}),
}
FIELDS: dict[Label, frozenset[str]] = {
    "payment": frozenset({"cc-number", "cc-csc", "cc-exp", "card-number", "cardnumber", "card_number", "cvv", "cvc", "iban"}),
    "password_change": frozenset({"new-password", "new_password", "newpassword", "new_password1"}),
}
PASSWORD_VERBS = frozenset({"change", "reset", "set", "update", "new"})
CHOICES = frozenset({"hidden", "select", "select-one", "select-multiple", "radio", "checkbox", "submit", "button", "image"})
BUTTONS = frozenset({"submit", "image", "button", "reset"})
ENTER = frozenset({"enter", "numpadenter", "return", "\n", "\r"})
SPACE = frozenset({"space", ""})
OF_FORM = frozenset({"form_submit", "external_navigation", "popup", "payment", "password_change", "send_message", "delete_record"})
HARMLESS = frozenset("view read open look check see search find show inspect browse review examine visit cancel back close preview".split())
WRITE_WORDS = frozenset(
    "submit save confirm send post create add update edit change apply sign log login register approve enter complete place write set fill press".split()
)
HONEST: dict[Label, frozenset[str]] = {
    "payment": WORDS["payment"] | {"payment", "paying", "order", "charge"},
    "send_message": WORDS["send_message"] | {"message", "post", "comment", "sending"},
    "delete_record": WORDS["delete_record"] | {"deleting", "deletion", "erase", "clear"},
    "password_change": frozenset({"password", "credentials", "register", "account"}),
    "upload": frozenset({"upload", "attach", "file", "files"}),
    "file_delete": WORDS["delete_record"] | {"rm", "erase"},
    "shell_command": frozenset({"run", "execute", "command", "shell", "script"}),
    "package_install": frozenset({"install", "package", "add"}),
}


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
    """The effect of a proposal: labels that hold, labels that cannot be told, and the requests it is known to send.

    `requests_unclear`: it may send others, which could not be read (an element or a form that is UNKNOWN). What scripts send is never here:
    the request gate decides on that.
    """

    labels: frozenset[Label] = frozenset()
    unclear: frozenset[Label] = frozenset()
    requests: tuple[Request, ...] = ()
    requests_unclear: bool = False


def classify(proposal: Proposal, grounding: Grounding, home: Iterable[Origin | OriginPattern]) -> Effect:
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
            labels |= element_labels(element)
            requests += link_requests(element, grounding.page)
        if isinstance(form, Unknown):
            unclear |= OF_FORM
        elif form and form.method.lower() != "dialog":
            labels |= form_labels(form)
            requests += form_requests(form)
    away = any(not at_home(request.address, home) for request in requests)
    labels |= {"external_navigation"} if away else set()
    hidden = "form_submit" in unclear or (isinstance(form, Form) and "form_submit" in labels and form.action is None)
    return Effect(
        labels=frozenset(labels), unclear=frozenset(unclear - labels), requests=tuple(requests), requests_unclear=hidden,
    )


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
    return proposal.action_type in ("fill", "type") or (proposal.action_type == "press" and len(key_of(proposal)) == 1)


def is_field(element: Element) -> bool:
    """Whether it takes a value, so that its name says what is asked for and not what it does."""
    return element.tag in ("textarea", "select", "option") or (element.tag == "input" and not element.submits and element.input_type not in BUTTONS)


def mark_credentials(element: Element | Unknown | None, labels: set[Label], unclear: set[Label]) -> None:
    if isinstance(element, Unknown):
        unclear.add("credential_entry")
    elif element and (element.input_type == "password" or element.autocomplete.endswith(("password", "one-time-code"))):
        labels.add("credential_entry")


def element_labels(element: Element) -> set[Label]:
    """What a control's own words and its link say."""
    labels: set[Label] = set()
    if element.download:
        labels.add("download")
    if element.new_window:
        labels.add("popup")
    if not is_field(element):
        shown = [element.name, element.text, *(value for name, value in element.attributes.items() if name not in ("class", "style", "href", "src"))]
        said = words(" ".join(shown)) | (words(unquoted(element.href.path)) if element.href else frozenset())
        labels |= labels_of_words(said, writes=element.href is None)
    return labels


def labels_of_words(said: frozenset[str], *, writes: bool) -> set[Label]:
    labels = {label for label, table in WORDS.items() if said & table}
    if writes:
        labels |= {label for label, table in WRITTEN.items() if said & table}
    return labels | ({"password_change"} if "password" in said and said & PASSWORD_VERBS else set())


def form_labels(form: Form) -> set[Label]:
    """What a form asks for, where it goes, and what is chosen in it, whatever its button is called."""
    chosen = [f"{one.name} {(one.value or '')[:40]}" for one in form.fields if one.kind in CHOICES]
    said = words(" ".join([unquoted(form.action.path) if form.action else "", *chosen]))
    labels = labels_of_words(said, writes=form.method.upper() not in WRITE_METHODS_SAFE) | {"form_submit"}
    asked = {form_word for one in form.fields for form_word in (one.name.lower(), *one.autocomplete.lower().split())}
    labels |= {label for label, table in FIELDS.items() if asked & table}
    if sum(one.kind == "password" for one in form.fields) > 1:
        labels.add("password_change")
    if form.new_window:
        labels.add("popup")
    return labels


def link_requests(element: Element, page: Address | None) -> list[Request]:
    """Following a link reads its address. A script, a place on the same page and what the page itself made are no requests."""
    href = element.href
    if href is None or href.origin.scheme == "javascript" or (element.download and href.origin.scheme == "data"):
        return []
    if page and (href.href.startswith(f"blob:{page.origin}/") or ("#" in href.href and bare(href) == bare(page))):
        return []
    return [Request(method="GET", address=href, navigation=True)]


def bare(address: Address) -> str:
    return address.href.partition("#")[0]


def form_requests(form: Form) -> list[Request]:
    """What sending a form sends, as far as the page tells it."""
    if form.action is None or form.action.origin.scheme == "javascript":
        return []
    method = form.method.upper()
    pairs = tuple((one.name, one.value) for one in form.fields)
    if method == "GET":
        return [Request(method=method, address=with_query(form.action, tuple((name, value or "") for name, value in pairs)), navigation=True)]
    return [Request(method=method, address=form.action, fields=pairs, content_type=form.enctype, body_size=None, navigation=True)]


def with_query(address: Address, pairs: tuple[tuple[str, str], ...]) -> Address:
    """The address with its query replaced, as a form sent by GET does."""
    query = "&".join(f"{form_quoted(name)}={form_quoted(value)}" for name, value in pairs)
    return Address(href=f"{bare(address).partition('?')[0]}?{query}", origin=address.origin, path=address.path, query=pairs)


def form_quoted(text: str) -> str:
    """As application/x-www-form-urlencoded writes it."""
    kept = b"*-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    return "".join("+" if byte == 0x20 else chr(byte) if byte in kept else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


def at_home(address: Address, home: Iterable[Origin | OriginPattern]) -> bool:
    if address.origin.scheme == "about" and address.path in ("blank", "srcdoc"):
        return True
    return any(one.covers(address.origin) if isinstance(one, OriginPattern) else one == address.origin for one in home)


def claim_mismatch(claim: str, action_type: str, effect: Effect, grounding: Grounding) -> str | None:
    """One line if the agent claims something harmless and names nothing of what the act would do. A finding, never part of a decision."""
    said = words(claim)
    happening = sorted(effect.labels & HONEST.keys())
    if not happening and any(request.writes for request in effect.requests):
        happening = ["form_submit"]
    honest = frozenset[str]().union(*(HONEST.get(label, WRITE_WORDS) for label in happening))
    if not happening or not said & HARMLESS or said & honest:
        return None
    target = f" on {grounding.element.role or grounding.element.tag} {grounding.element.name!r}" if isinstance(grounding.element, Element) else ""
    return f"the agent says {plain(claim)!r}, but {action_type}{target} is {', '.join(happening)}"


def plain(text: str) -> str:
    """Text as a person reads it: compatibility forms folded, invisible characters dropped, spaces collapsed."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    return " ".join("".join(c for c in normalize("NFKC", text) if category(c) != "Cf").split())


def words(text: str) -> frozenset[str]:
    """Its words in lower case; `deleteUser`, `delete_user` and `delete-user` are two each."""
    return frozenset(word.lower() for word in re.findall(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])", plain(text)))


def unquoted(text: str) -> str:
    """Percent-decoded once, as UTF-8."""
    if "%" not in text:
        return text
    return re.sub(rb"%([0-9a-fA-F]{2})", lambda m: bytes([int(m[1], 16)]), text.encode("utf-8", "replace")).decode("utf-8", "replace")
