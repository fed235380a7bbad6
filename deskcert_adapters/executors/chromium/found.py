"""What the page scripts answer about a grounded element, and how it becomes the core's facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from deskcert_core.address import Address, Origin, parse
from deskcert_core.effect import TEXT_LIMIT, UNKNOWN, Box, Element, Field, Form, Unknown

__all__ = ["Found", "FoundElement", "FoundForm", "Named", "Problem", "address_of", "element_of", "form_of", "origin_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why there is nothing to act on; `final` where waiting would not help."""

    kind: Literal["missing", "ambiguous", "covered", "unusable"]
    message: str
    final: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundForm:
    """A form as the act would send it; `action` is None where its address is none."""

    action: str | None
    method: str
    enctype: str
    new_window: bool
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundElement:
    """The element as the page's own markup has it; `origin` is the frame's as the browser writes it, "null" for an opaque one."""

    tag: str
    text: str
    input_type: str
    autocomplete: str
    href: str | None
    has_href: bool
    download: bool
    new_window: bool
    submits: bool
    origin: str
    location: str
    box: Box
    selectors: tuple[str, ...]
    attributes: dict[str, str] = field(default_factory=dict)
    covered_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """One answer of `named` in facts.js: the names that the page's elements bear, and whether nothing shown could bear another one."""

    names: tuple[str, ...] | None = None
    all_named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One answer of `ground` in ground.js. `foreign` names a frame whose content cannot be read; `moving` says that it is being animated."""

    problem: Problem | None = None
    foreign: str | None = None
    point: tuple[float, float] | None = None
    element: FoundElement | None = None
    form: FoundForm | None = None
    moving: bool = False


def address_of(text: str | None) -> Address | None:
    """The canonical address, None where it is none or names a user."""
    try:
        return parse(text) if text else None
    except ValueError:
        return None


def origin_of(origin: str, location: str) -> Origin | None:
    """A frame's origin; None for an opaque one (a sandboxed frame), whatever its address says."""
    address = address_of(location if origin == "null" and location.startswith("file:") else origin)
    return address.origin if address else None


def element_of(found: FoundElement, role: str, name: str) -> Element | Unknown:
    """The core's facts. UNKNOWN if its link cannot be read as an address: where it leads must not be taken for nowhere."""
    href = address_of(found.href)
    if found.has_href and href is None:
        return UNKNOWN
    return Element(
        tag=found.tag, role=role, name=name[:TEXT_LIMIT], text=found.text, input_type=found.input_type, autocomplete=found.autocomplete, href=href,
        download=found.download, new_window=found.new_window, submits=found.submits, origin=origin_of(found.origin, found.location), box=found.box,
        covered_by=found.covered_by, selectors=found.selectors, attributes=found.attributes,
    )


def form_of(found: FoundForm | None) -> Form | Unknown | None:
    """The core's form; UNKNOWN if its action cannot be read as an address."""
    if found is None:
        return None
    action = address_of(found.action)
    if action is None:
        return UNKNOWN
    return Form(action=action, method=found.method, enctype=found.enctype, new_window=found.new_window, fields=found.fields)
