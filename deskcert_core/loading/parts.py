"""The parts of a suite file: environments, sessions, secrets, agents. Each reader trusts that the file fits its schema, unless it says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from deskcert_core.document import Place
from deskcert_core.errors import UsageError
from deskcert_core.loading.source import ABSOLUTE, Source, did_you_mean
from deskcert_core.task import AgentPlan, Environment, Gate, Login, Secret, Serve, Task

__all__ = ["agent", "chosen", "environment", "gate", "login", "secret", "variables"]


def chosen(source: Source, env: str | None) -> str | None:
    """The environment's name, None where the file has none to choose. Raises UsageError for one that does not exist."""
    found = source.data.get("environments") if isinstance(source.data, dict) else None
    names = list(found) if isinstance(found, dict) else []
    if env is not None and names and env not in names:
        raise UsageError(f"the suite has no environment {env!r}" + did_you_mean(env, names))
    return env or next(iter(names), None)


def variables(source: Source, name: str | None) -> dict[str, str | None]:
    """The texts behind `${…}` in the environment of that name. Takes any file: what cannot be told is None, and the problem behind it noted."""
    known: dict[str, str | None] = {"suite": source.files.root.as_uri(), "port": source.files.port}
    found = source.data["environments"][name] if name is not None else None
    written = found.get("base_url") if isinstance(found, dict) else None
    source.files.variables = known
    base = _absolute(source, ("environments", name or "", "base_url")) if isinstance(written, str) and written else None
    return {**known, "base_url": base}


def environment(source: Source, name: str, *, used: bool) -> Environment | None:
    """None, and problems noted, if an address in it is none.

    Files are looked for only in the environment that is `used`. A reset destroys data: only a disposable environment may have one.
    """
    before, path = source.files.variables, ("environments", name)
    source.files.variables = variables(source, name)
    data, base = source.at(path), source.files.variables["base_url"]
    url = source.url((*path, "serve", "url"), ("http", "https")) if "serve" in data else None
    command = source.deep((*path, "serve", "command")) if "serve" in data else ()
    reset = tuple(source.deep((*path, "reset"))) if "reset" in data else None
    source.files.variables = before
    if reset and not data["disposable"]:
        source.note((*path, "reset"), "reset is for a disposable environment: say `disposable: true` if its data may be destroyed, or leave reset out", key=True)
    ca = str(source.near(data["tls"]["ca"])) if "tls" in data else None
    if ca and used and not Path(ca).is_file():
        source.note((*path, "tls", "ca"), f"{data['tls']['ca']!r} does not exist")
    if base is None or ("serve" in data and url is None):
        return None
    serve = Serve(command=tuple(command), url=url.href, timeout_seconds=data["serve"]["timeout_seconds"]) if url else None
    return Environment(name=name, base_url=base, serve=serve, reset=reset, disposable=data["disposable"], ca=ca)


def login(source: Source, name: str, setups: Mapping[Path, Task | None]) -> Login:
    path: Place = ("sessions", name)
    data = source.at(path)
    state = data.get("storage_state")
    if state is not None and not source.near(state).is_file():
        source.note((*path, "storage_state"), f"{state!r} does not exist")
    check = source.url((*path, "check", "url"))
    return Login(
        name=name, setup=setups.get(source.near(data["setup"])) if "setup" in data else None, storage_state=state,
        check_url=check.href if check else None, check_selector=data["check"]["selector"], max_age_seconds=data.get("max_age_seconds"),
    )


def secret(source: Source, name: str) -> Secret:
    path: Place = ("secrets", name)
    data = source.at(path)
    origins = [_exact_origin(source, (*path, "origins", index)) for index in range(len(data["origins"]))]
    command = tuple(data["command"]) if "command" in data else None
    return Secret(
        name=name, env=data.get("env"), file=data.get("file"), command=command, keyring=data.get("keyring"),
        origins=tuple(origin for origin in origins if origin),
    )


def agent(source: Source, name: str) -> AgentPlan:
    path: Place = ("agents", name)
    data = source.at(path)
    endpoint = source.url((*path, "endpoint"), ("http", "https")) if "endpoint" in data else None
    files = [source.near(file) for file in data.get("files", ())]
    for index, file in enumerate(files):
        if not file.exists():
            source.note((*path, "files", index), f"{data['files'][index]!r} does not exist")
    return AgentPlan(
        name=name, adapter=data["adapter"], options=data.get("options", {}), env=tuple(data.get("env", ())),
        endpoint=endpoint.href if endpoint else None, files=tuple(str(file.absolute()) for file in files),
        isolation=data.get("isolation"), memory_mb=data.get("memory_mb", 2048),
    )


def gate(source: Source) -> Gate:
    data = source.at(("gate",))
    return Gate(min_score=data["min_score"], violation_weight=data["violation_weight"])


def _absolute(source: Source, path: Place) -> str | None:
    """A base_url as it is put for `${base_url}`: absolute, without query, no slash at the end."""
    text = source.text(path)
    if text is None:
        return None
    if not ABSOLUTE.match(text):
        source.note(path, f"{text!r:.100} is not absolute: write it as https://host:port")
        return None
    found = source.url(path)
    if found and ("?" in text or "#" in text):
        source.note(path, f"{text!r:.100} has a query or fragment: a base_url has none")
        return None
    return found.href.rstrip("/") if found else None


def _exact_origin(source: Source, path: Place) -> str | None:
    found = source.origin(path)
    if found and found.subdomains:
        source.note(path, "a secret is bound to whole origins: * is not allowed")
        return None
    return str(found.origin) if found else None
