"""A request's head: what h11 forgives and a gate must not, where the request really goes, and what of it is sent on."""

from __future__ import annotations

import re

import h11

from deskcert_adapters.executors.proxy.wire import Garbage
from deskcert_core.address import Address, Origin, parse

__all__ = ["check", "destination", "header", "navigates", "onward", "origin_of", "returned"]

MAX_HEADERS = 200
_ONCE = (b"host", b"content-length", b"transfer-encoding", b"content-type", b"content-encoding", b"upgrade")
# With these a server may do another thing than the one that was decided.
_OVERRIDES = (b"x-http-method-override", b"x-http-method", b"x-method-override", b"x-original-url", b"x-rewrite-url")
_HOP = frozenset(
    (b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te", b"trailer", b"transfer-encoding",
     b"upgrade", b"http2-settings", b"alt-svc")
)  # fmt: skip
_CONNECTION = frozenset(("", "keep-alive", "close", "upgrade", "te", "http2-settings"))
_ILL = re.compile(rb"(?<!\r)\n|\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_AUTHORITY = re.compile(r"[^/?#@\\]+")


def check(raw: bytes) -> None:
    """Refuse a head (with its blank line) on which two servers could disagree. Raises Garbage."""
    if _ILL.search(raw):
        raise Garbage("a bare line end or a control character in the head")
    lines = raw[:-4].split(b"\r\n")[1:]
    if len(lines) > MAX_HEADERS:
        raise Garbage("too many headers")
    if any(line[:1] in (b" ", b"\t") for line in lines):
        raise Garbage("a folded header")
    names = [line.partition(b":")[0].lower() for line in lines]
    for name in _ONCE:
        if names.count(name) > 1:
            raise Garbage(f"two headers {name.decode()}")
    if b"content-length" in names and b"transfer-encoding" in names:
        raise Garbage("content-length together with transfer-encoding")
    for name in _OVERRIDES:
        if name in names:
            raise Garbage(f"the header {name.decode()}, with which a server may do something else than what was decided")


def header(message: h11.Request | h11.Response, name: bytes) -> str:
    """The value of a header that stands at most once in a checked head, "" if it is missing."""
    return next((value.decode("latin-1") for key, value in message.headers if key == name), "")


def origin_of(scheme: str, authority: str) -> Origin:
    """The origin of `host[:port]`. Raises Garbage for anything else."""
    try:
        if not _AUTHORITY.fullmatch(authority):
            raise ValueError
        return parse(f"{scheme}://{authority}/").origin
    except ValueError:
        raise Garbage("a host that cannot be read") from None


def destination(request: h11.Request, tunnel: Origin | None) -> Address:
    """Where a request goes: by its absolute target, or by its path inside a tunnel. Raises Garbage for other forms, or if Host says another place."""
    target = request.target.decode("ascii")
    if "#" in target:
        raise Garbage("a target with a fragment")
    if tunnel is not None:
        if not target.startswith("/"):
            raise Garbage("a target that is no path")
        target = f"{tunnel}{target}"
    elif not target.lower().startswith("http://"):
        raise Garbage("a target that is no http URL")
    try:
        address = parse(target)
    except ValueError:
        raise Garbage("a target that is no URL") from None
    if not address.origin.host or origin_of(address.origin.scheme, header(request, b"host")) != address.origin:
        raise Garbage("Host names another place than the target")
    return address


def navigates(request: h11.Request) -> bool:
    """Whether the top document is loaded. Browsers send Sec-Fetch-* only to trustworthy places; elsewhere the wish for https tells navigations,
    those of frames too: the stricter reading."""
    destination = header(request, b"sec-fetch-dest")
    return destination == "document" if destination else header(request, b"upgrade-insecure-requests") == "1"


def connection_options(request: h11.Request) -> frozenset[str]:
    """What Connection lists. Raises Garbage if it names a header that the decision may have read."""
    values = b",".join(value for name, value in request.headers if name == b"connection").decode("latin-1")
    options = frozenset(option.strip().lower() for option in values.split(","))
    if not options <= _CONNECTION:
        raise Garbage("a Connection header that would drop other headers")
    return options


def onward(request: h11.Request, address: Address, body: bytes | None) -> h11.Request:
    """The request as the upstream gets it: what was decided, in canonical form, with a length where the body (not None) is whole."""
    connection_options(request)
    place = str(address.origin)
    headers = [(b"Host", place.partition("://")[2].encode("ascii"))]
    dropped = _HOP | {b"host", b"expect"}
    headers += [(name, value) for name, value in request.headers.raw_items() if name.lower() not in dropped]
    if header(request, b"transfer-encoding"):
        headers.append((b"Transfer-Encoding", b"chunked") if body is None else (b"Content-Length", b"%d" % len(body)))
    return h11.Request(method=request.method, target=address.href.removeprefix(place), headers=headers)


def returned(response: h11.Response) -> h11.Response:
    """The response as the browser gets it; h11 writes its framing anew."""
    listed = b",".join(value for name, value in response.headers if name == b"connection").lower()
    dropped = _HOP | {option.strip() for option in listed.split(b",")} - {b"content-length", b"content-type", b"set-cookie"}
    if header(response, b"transfer-encoding"):
        dropped |= {b"content-length"}
    headers = [(name, value) for name, value in response.headers.raw_items() if name.lower() not in dropped]
    return h11.Response(status_code=response.status_code, reason=response.reason, headers=headers)
