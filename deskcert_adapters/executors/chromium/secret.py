"""Secrets: which value a handle stands for, and whether the grounded field may take it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from deskcert_adapters.executors.chromium.found import address_of
from deskcert_adapters.executors.chromium.world import World
from deskcert_core.execution import SecretValue

__all__ = ["SecretRefused", "check_place", "secret_of"]

HANDLE = re.compile(r"\{\{secret:([^{}]*)\}\}")


class SecretRefused(Exception):
    """Nothing was typed, or what was typed is wiped. The message names no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The answer of `secretPlace` in act.js: the field's kind, its frame's origin, and where its form can be sent."""

    why: str | None
    kind: str
    origin: str
    actions: tuple[str, ...]


def secret_of(value: str, secrets: Mapping[str, SecretValue]) -> SecretValue | None:
    """The secret that the whole value is a handle of, None for plain text. Raises SecretRefused for one that is unknown or only part of the value."""
    if "{{secret:" not in value:
        return None
    whole = HANDLE.fullmatch(value)
    if whole is None:
        raise SecretRefused("a secret's handle must be the whole value")
    if whole[1] not in secrets:
        raise SecretRefused(f"there is no secret {whole[1]!r}")
    secret = secrets[whole[1]]
    if "\n" in secret.value or "\r" in secret.value:
        raise SecretRefused("a secret of more than one line is not typed: the line end would press Enter")
    return secret


async def check_place(world: World, secret: SecretValue) -> None:
    """Read the field again, right before typing. Raises SecretRefused unless it is a password field in a frame and a form of the bound origins."""
    place = await world.call("secretPlace", into=Place)
    if place.why:
        raise SecretRefused(f"not done: {place.why}")
    bound = {address.origin for address in map(address_of, secret.origins) if address}
    for what, at in [("field's frame", place.origin), *(("field's form", action) for action in place.actions)]:
        address = address_of(at)
        if address is None or address.origin not in bound:
            raise SecretRefused(f"the {what} belongs to {address.origin if address else 'no known origin'}, to which the secret is not bound")
    if place.kind != "password":
        raise SecretRefused("a secret is typed into password fields only")
