"""A canonical URL (WHATWG) and its origin. `parse` is for the edges; the policy only ever sees the parts."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Address", "Origin", "OriginPattern", "bare", "parse", "parse_pattern", "with_query"]

DEFAULT_PORT = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
HTTP_OF = {"ws": "http", "wss": "https"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Scheme, host and port; `port` is always the real one, None only where the scheme has none (`file`, `data`)."""

    scheme: str
    host: str = ""
    port: int | None = None

    def __str__(self) -> str:
        shown = "" if self.port in (None, DEFAULT_PORT.get(self.scheme)) else f":{self.port}"
        return f"{self.scheme}://{self.host}{shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A canonical URL: `href` whole, the rest in parts; `path` percent-encoded as WHATWG leaves it, `query` decoded pairs in order."""

    href: str
    origin: Origin
    path: str
    query: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.href


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginPattern:
    """An origin of a policy's `domains`; `subdomains` is true for `https://*.corp.example` (the bare host is not meant)."""

    origin: Origin
    subdomains: bool = False

    def covers(self, other: Origin) -> bool:
        mine = self.origin
        if (mine.scheme, mine.port) != (HTTP_OF.get(other.scheme, other.scheme), other.port):
            return False
        return other.host.endswith("." + mine.host) if self.subdomains else other.host == mine.host


def parse(text: str, base: str | None = None) -> Address:
    """The canonical address of `text`, resolved against `base`. Raises ValueError where WHATWG refuses it, and for user names in it."""
    import ada_url

    url = ada_url.URL(text, base) if base else ada_url.URL(text)
    if url.username or url.password:
        raise ValueError("a URL with a user name or password in it")
    scheme = url.protocol.rstrip(":")
    port = int(url.port) if url.port else DEFAULT_PORT.get(scheme)
    query = tuple(ada_url.URLSearchParams(url.search.removeprefix("?")).items())
    return Address(href=url.href, origin=Origin(scheme=scheme, host=url.hostname, port=port), path=url.pathname, query=query)


def parse_pattern(text: str) -> OriginPattern:
    """`https://host[:port]`, `https://*.host[:port]` or `file://…`. Raises ValueError for anything with a path, or no host."""
    scheme, mark, rest = text.partition("://")
    if not mark:
        raise ValueError("not an origin: write it as scheme://host:port")
    subdomains = rest.startswith("*.")
    address = parse(f"{scheme}://{rest[2:] if subdomains else rest}")
    if address.origin.scheme != "file" and (address.path not in ("", "/") or address.query or not address.origin.host):
        raise ValueError("an origin has no path and no query")
    return OriginPattern(origin=address.origin, subdomains=subdomains)


def bare(address: Address) -> str:
    """The whole address without its fragment: what is sent."""
    return address.href.partition("#")[0]


def with_query(address: Address, pairs: tuple[tuple[str, str], ...]) -> Address:
    """The address with its query replaced, as a form sent by GET does."""
    query = "&".join(f"{form_quoted(name)}={form_quoted(value)}" for name, value in pairs)
    return Address(href=f"{bare(address).partition('?')[0]}?{query}", origin=address.origin, path=address.path, query=pairs)


def form_quoted(text: str) -> str:
    """As application/x-www-form-urlencoded writes it."""
    kept = b"*-._0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    return "".join("+" if byte == 0x20 else chr(byte) if byte in kept else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))
