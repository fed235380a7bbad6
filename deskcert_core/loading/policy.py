"""A policy file, with the policies it extends, becomes a Policy. A child can only tighten: each parent is kept whole and decides for itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import msgspec

from deskcert_core import schemas
from deskcert_core.budget import Limits
from deskcert_core.document import Document, Place, parse
from deskcert_core.effect import LABELS
from deskcert_core.errors import PluginError
from deskcert_core.loading.costs import micro_usd
from deskcert_core.loading.source import Files, Source, did_you_mean, file_path
from deskcert_core.loading.tightening import stricter_limits, tightened
from deskcert_core.loading.when import request_of, when_of
from deskcert_core.plugins import drivers
from deskcert_core.policy.rules import Approvals, Domains, Lists, Policy, Rule, Status

__all__ = ["Policies", "PolicyRead"]

PACK = "pack:"
PACKS, EFFECTS = "deskcert.policy_packs", "deskcert.effects"
DEEPEST = 10
LISTS = ("allowed", "approval_required", "blocked")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRead:
    """A policy, and the limits that it and its parents set together."""

    policy: Policy
    limits: Limits


@dataclass(slots=True, kw_only=True)
class Policies:
    """Reads each policy of a suite once, whoever extends it."""

    files: Files
    done: dict[str, PolicyRead | None] = field(default_factory=dict)

    def load(self, path: Path) -> PolicyRead | None:
        """The policy at `path`; None if it or a parent is not fit to be used. Raises PluginError for a broken policy pack."""
        return self._file(path, ())

    def _file(self, path: Path, above: tuple[str, ...]) -> PolicyRead | None:
        key = str(path)
        if key not in self.done:
            document = self.files.read(path)
            self.done[key] = self._read(document, path, (*above, key)) if document else None
        return self.done[key]

    def _pack(self, name: str, above: tuple[str, ...]) -> PolicyRead | None:
        key = PACK + name
        if key not in self.done:
            self.done[key] = self._read(_pack_document(name), self.files.root / key, (*above, key))
        return self.done[key]

    def _read(self, document: Document, path: Path, chain: tuple[str, ...]) -> PolicyRead | None:
        source = self.files.source(document, path, schemas.named("policy"))
        parents = [self._parent(source, ("extends", index), chain) for index in range(len(source.data["extends"]))] if source.valid else [None]
        if not source.valid:
            return None
        found = [parent for parent in parents if parent]
        problems = len(self.files.problems)
        own = _policy(source, tuple(parent.policy for parent in found))
        limits = stricter_limits([_limits(source), *(parent.limits for parent in found)])
        policy = tightened(source, own)
        # a policy with a hole in it would only make tasks look wrong
        fit = len(found) == len(parents) and len(self.files.problems) == problems
        return PolicyRead(policy=policy, limits=limits) if fit else None

    def _parent(self, source: Source, path: Place, chain: tuple[str, ...]) -> PolicyRead | None:
        written: str = source.at(path)
        key = written if written.startswith(PACK) else str(source.near(written))
        if key in chain:
            source.note(path, f"{written} extends this policy in turn: a circle")
        elif len(chain) >= DEEPEST:
            source.note(path, f"policies extend each other more than {DEEPEST} deep")
        elif not written.startswith(PACK):
            return self._file(Path(key), chain)
        elif (name := written.removeprefix(PACK)) not in drivers.names(PACKS):
            source.note(path, f"there is no policy pack {name!r}" + did_you_mean(name, list(drivers.names(PACKS))))
        else:
            return self._pack(name, chain)
        return None


def _pack_document(name: str) -> Document:
    """A pack's text as a file called pack:NAME. Its attribute `text` is the YAML, or is called to give it."""
    plugin = drivers.get(PACKS, name)
    try:
        pack: Any = plugin() if isinstance(plugin, type) else plugin
        text = pack.text() if callable(pack.text) else pack.text
        return parse(text.encode(), PACK + name)
    except Exception as error:  # a stranger's code
        raise PluginError(f"policy pack {name!r} gives no policy: {error!r:.200}", hint="repair or uninstall it") from error


def _policy(source: Source, parents: tuple[Policy, ...]) -> Policy:
    data = source.data
    classifiers = tuple(data["classifiers"])
    for index, name in enumerate(classifiers):
        if name not in drivers.names(EFFECTS):
            source.note(("classifiers", index), f"there is no effect classifier {name!r}" + did_you_mean(name, list(drivers.names(EFFECTS))))
    for path in _label_places(data):
        if source.at(path) not in LABELS and not classifiers:
            source.note(path, f"no effect is called {source.at(path)!r}, and the policy names no classifiers" + did_you_mean(source.at(path), list(LABELS)))
    domains = {name: tuple(filter(None, (source.origin(("domains", name, i)) for i in range(len(data["domains"][name]))))) for name in LISTS}
    return Policy(
        name=data["name"], actions=_lists(data["actions"]), effects=_lists(data["effects"]), domains=Domains(**domains),
        writes=Status(data["requests"]["writes"]),
        background=tuple(request_of(source, ("requests", "background", i)) for i in range(len(data["requests"]["background"]))),
        rules=tuple(_rules(source)), file_roots=tuple(_roots(source)), private_networks=tuple(_networks(source)),
        upstream_proxy=source.text(("network", "upstream_proxy")) or "none", containment=data["containment"],
        on_block=data["on_block"], on_denied=data["on_denied"], approvals=msgspec.convert(data["approvals"], Approvals),
        redact=tuple(data["redact"]), classifiers=classifiers, parents=parents, lines=_lines(source),
    )


def _lists(data: dict[str, list[str]]) -> Lists:
    return Lists(**{name: frozenset(data.get(name, ())) for name in LISTS})


def _label_places(data: Any) -> Iterator[Place]:
    """Where the policy names an effect."""
    for name in LISTS:
        yield from (("effects", name, index) for index in range(len(data["effects"][name])))
    for index, rule in enumerate(data["rules"]):
        effect, path = rule["when"].get("effect", []), ("rules", index, "when", "effect")
        yield from [path] if isinstance(effect, str) else [(*path, place) for place in range(len(effect))]


def _rules(source: Source) -> Iterator[Rule]:
    seen: dict[str, int] = {}
    for index, rule in enumerate(source.data["rules"]):
        first = seen.setdefault(rule["id"], index)
        if first != index:
            source.note(("rules", index, "id"), f"the rule {rule['id']!r} was already given at line {source.document.place(('rules', first))[0]}")
        yield Rule(id=rule["id"], decision=Status(rule["decision"]), when=when_of(source, ("rules", index, "when")))


def _roots(source: Source) -> Iterator[str]:
    """Absolute folders. A `file:` URL, as `${suite}` gives one, is as good as a path."""
    for index in range(len(source.data["files"]["roots"])):
        path: Place = ("files", "roots", index)
        text = source.text(path)
        if text is None:
            continue
        if not text.startswith("file:"):
            yield str(source.near(text))
        elif address := source.url(path, ("file",)):
            yield file_path(address)


def _networks(source: Source) -> Iterator[str]:
    for index, network in enumerate(source.data["network"]["private"]):
        try:
            yield str(ip_network(network))
        except ValueError as error:
            source.note(("network", "private", index), f"is not a network such as 10.0.0.0/8: {error}")


def _limits(source: Source) -> Limits:
    data = source.data["limits"]
    return Limits(
        max_steps=int(data["max_steps"]), max_runtime_seconds=float(data["max_runtime_seconds"]), max_repeats=int(data["max_repeats"]),
        max_dialogs=int(data["max_dialogs"]),
        max_cost_micro_usd=None if data["max_cost_usd"] == "none" else micro_usd(source, ("limits", "max_cost_usd")),
    )


def _lines(source: Source) -> dict[str, str]:
    """Where each line stands that a decision can rest on, by the names that the engine uses."""
    data, lines = source.data, dict[str, str]()
    where = source.document.file if source.document.file.startswith(PACK) else source.files.label(source.path)

    def stands(rule: str, path: Place, *, key: bool = False) -> None:
        lines.setdefault(rule, f"{where}:{source.document.place(path, key=key)[0]}")

    for control in ("actions", "effects"):
        for name, entries in data[control].items():
            for index, entry in enumerate(entries):
                stands(f"{name}.{entry}", (control, name, index))
    for name in LISTS:
        stands(f"domains.{name}", ("domains", name), key=True)
    for name in ("writes", "background"):
        stands(f"requests.{name}", ("requests", name), key=True)
    for index, rule in enumerate(data["rules"]):
        stands(f"rules.{rule['id']}", ("rules", index))
    return lines
