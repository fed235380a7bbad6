"""Where the values behind secret handles come from. They live in this process, reach the executor, and nobody else."""

from __future__ import annotations

import os
from pathlib import Path

from deskcert_core.errors import UnavailableError
from deskcert_core.evidence.scrub import SHORTEST
from deskcert_core.execution import SecretValue
from deskcert_core.session.application import run_command
from deskcert_core.task import Secret

__all__ = ["fetch"]


async def fetch(secrets: dict[str, Secret], root: Path) -> dict[str, SecretValue]:
    """Every secret of the suite. Raises UnavailableError naming the secret and its source, never its value."""
    found: dict[str, SecretValue] = {}
    for name, secret in secrets.items():
        value = await value_of(name, secret, root)
        if not value:
            raise UnavailableError(f"secret {name!r} is empty")
        if len(value) < SHORTEST:
            raise UnavailableError(f"secret {name!r} is shorter than {SHORTEST} characters", hint="it could not be kept out of the evidence")
        found[name] = SecretValue(value=value, origins=secret.origins)
    return found


async def value_of(name: str, secret: Secret, root: Path) -> str:
    try:
        if secret.env is not None:
            if secret.env not in os.environ:
                raise UnavailableError(f"secret {name!r}: the environment variable {secret.env} is not set", hint=f"export {secret.env}=…")
            return os.environ[secret.env]
        if secret.file is not None:
            return (root / secret.file).read_text().removesuffix("\n")
        if secret.command is not None:
            return (await run_command(secret.command, root, os.environ)).decode().removesuffix("\n")
        return from_keyring(name, secret.keyring or "")
    except (OSError, RuntimeError, UnicodeDecodeError) as error:
        raise UnavailableError(f"secret {name!r}: {error}") from error


def from_keyring(name: str, entry: str) -> str:
    """`service/user` in the system's keyring; the library is the user's to install."""
    try:
        import keyring
    except ModuleNotFoundError as error:
        raise UnavailableError(f"secret {name!r} is in a keyring, and the package keyring is not installed", hint="pip install keyring") from error
    service, _, user = entry.partition("/")
    value = keyring.get_password(service, user)
    if value is None:
        raise UnavailableError(f"secret {name!r}: the keyring has no entry {entry!r}")
    return str(value)
