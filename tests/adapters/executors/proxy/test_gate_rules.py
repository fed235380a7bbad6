"""A rule on fields, queries or paths holds in whatever way they are written: what it blocks never reaches the origin. The control is the policy without it."""

from __future__ import annotations

import pytest
from gate_world import Told, World, in_loop, world

from deskcert_core.address import parse_pattern
from deskcert_core.effect import Request
from deskcert_core.execution import Verdict
from deskcert_core.policy.engine import decide_request
from deskcert_core.policy.rules import Domains, Lists, Policy, RequestWhen, Rule, RuleWhen, Status, TextMatch

FORM, JSON, MULTI = ("application/x-www-form-urlencoded", "application/json", "multipart/form-data; boundary=b")


def rule(name: str, when: RequestWhen) -> Rule:
    return Rule(id=name, decision=Status.BLOCKED, when=RuleWhen(request=when))


RULES = (
    rule("field", RequestWhen(form={"role": (TextMatch(kind="exact", value="admin"),)})),
    rule("query", RequestWhen(query={"action": (TextMatch(kind="exact", value="delete"),)})),
    rule("path", RequestWhen(path=(TextMatch(kind="glob", value="/danger/**"),))),
)


def judging(w: World, rules: tuple[Rule, ...]) -> None:
    """Let the gate ask a real policy, with writes allowed."""
    domains = Domains(allowed=(parse_pattern(f"http://localhost:{w.origin.port}"),))
    policy = Policy(name="t", actions=Lists(), effects=Lists(), domains=domains, writes=Status.ALLOWED, rules=rules)

    def says(request: Request, body: bytes | None) -> Verdict:
        return Verdict(allow=decide_request(policy, request).status is Status.ALLOWED)

    w.traffic.says = says


def part(head: str, content: str) -> bytes:
    return f"--b\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n--b--\r\n".encode()


ADMIN = [
    (FORM, b"x=1&role=admin"), (FORM, b"x=1;role=admin"), (FORM, b"Role=admin"), (JSON, b'{"role": "admin"}'), (JSON, b'{"a": {"role": "admin"}}'),
    (JSON, b"role=admin"), ("text/plain", b"role=admin"), ("text/xml", b"role=admin"), ("application/octet-stream", b"role=admin"), ("", b"role=admin"),
    (MULTI, part('name="role"', "admin")), (MULTI, part('name="role"; filename=""', "admin")),
]
USER = [(FORM, b"role=user"), (FORM, b"other=a%3Brole=admin"), (JSON, b'{"role": "user"}'), (MULTI, part('name="role"', "user")), (MULTI, part('name="f"; filename="a"', "x")), ("text/plain", b"")]


@pytest.mark.parametrize("rules", [RULES, ()])
@in_loop
async def test_a_field_is_met_in_every_kind_of_body(rules: tuple[Rule, ...]) -> None:
    async with world(Told()) as w:
        judging(w, rules)
        for content_type, body in ADMIN + USER:
            await (await w.client()).ask(w.request("POST", "/change", f"Content-Type: {content_type}\r\n" if content_type else "", body))
        assert [hit.body for hit in w.origin.hits] == [body for _, body in (USER if rules else ADMIN + USER)]


DISGUISED = ["/q?action=delete", "/q?x=1;action=delete", "/q?Action=delete", "/danger/x", "/%2564anger/x", "/%25252564anger/x", "/%252525252564anger/x"]
PLAIN = ["/q?action=view", "/q?x=1%3Baction=delete", "/q;x", "/%64ear/x", "/100%25/x"]


@pytest.mark.parametrize("rules", [RULES, ()])
@in_loop
async def test_a_query_and_a_path_are_met_in_every_disguise(rules: tuple[Rule, ...]) -> None:
    async with world(Told()) as w:
        judging(w, rules)
        for target in DISGUISED + PLAIN:
            await (await w.client()).ask(w.request("GET", target))
        assert [hit.target for hit in w.origin.hits] == (PLAIN if rules else DISGUISED + PLAIN)
