"""Three-valued matching of elements, requests and paths."""

from __future__ import annotations

import pytest

from deskcert_core.address import Address, Origin, parse, parse_pattern
from deskcert_core.effect import TEXT_LIMIT, UNKNOWN, Effect, Element, Request, Unknown
from deskcert_core.policy.match import Truth, compiled, disguised, element_matches, is_background, path_forms, request_matches, rule_matches
from deskcert_core.policy.rules import ElementWhen, RequestWhen, RuleWhen, TextMatch

ORIGIN = Origin(scheme="https", host="app.example", port=443)


def exact(*texts: str) -> tuple[TextMatch, ...]:
    return tuple(TextMatch(kind="exact", value=text) for text in texts)


def glob(text: str) -> tuple[TextMatch, ...]:
    return (TextMatch(kind="glob", value=text),)


def search(text: str) -> tuple[TextMatch, ...]:
    return (TextMatch(kind="matches", value=text),)


def request(path: str = "/", method: str = "POST", query: tuple[tuple[str, str], ...] = (), **more: object) -> Request:
    return Request(method=method, address=Address(href=f"https://app.example{path}", origin=ORIGIN, path=path, query=query), **more)  # type: ignore[arg-type]


class TestElement:
    DELETE = Element(tag="button", role="button", name="Delete user", text="Delete", selectors=("#danger",))

    @pytest.mark.parametrize(
        ("when", "truth"),
        [
            (ElementWhen(), Truth.YES),
            (ElementWhen(selector="#danger"), Truth.YES),
            (ElementWhen(selector="#other"), Truth.NO),
            (ElementWhen(tag=exact("a", "button")), Truth.YES),
            (ElementWhen(tag=exact("a")), Truth.NO),
            (ElementWhen(role=exact("button"), name=search("(?i)delete|remove")), Truth.YES),
            (ElementWhen(role=exact("link"), name=search("(?i)delete|remove")), Truth.NO),
            (ElementWhen(text=exact("Delete")), Truth.YES),
            (ElementWhen(text=exact("delete")), Truth.NO),
        ],
    )
    def test_all_that_is_given_must_hold(self, when: ElementWhen, truth: Truth) -> None:
        assert element_matches(when, self.DELETE) is truth

    @pytest.mark.parametrize(("element", "truth"), [(None, Truth.NO), (UNKNOWN, Truth.UNKNOWN)])
    def test_no_element_and_an_unreadable_one(self, element: Unknown | None, truth: Truth) -> None:
        assert element_matches(ElementWhen(), element) is truth

    @pytest.mark.parametrize("name", ["De\u200blete", "\uff24elete", "  Delete\u00a0", "Del\u00adete"])
    def test_invisible_and_folded_characters_hide_nothing(self, name: str) -> None:
        assert element_matches(ElementWhen(name=exact("Delete")), Element(tag="a", name=name)) is Truth.YES

    def test_a_text_cut_short_may_hide_anything(self) -> None:
        cut = Element(tag="a", name="x" * TEXT_LIMIT)
        assert element_matches(ElementWhen(name=search("Delete")), cut) is Truth.UNKNOWN
        assert element_matches(ElementWhen(tag=exact("b"), name=search("Delete")), cut) is Truth.NO
        assert element_matches(ElementWhen(name=search("Delete")), Element(tag="a", name="x" * (TEXT_LIMIT - 1))) is Truth.NO

    def test_half_a_surrogate_pair_is_no_crash(self) -> None:
        assert element_matches(ElementWhen(name=search("Delete")), Element(tag="a", name="\ud83d Delete")) is Truth.YES


class TestRule:
    @pytest.mark.parametrize(
        ("effect", "truth"),
        [
            (Effect(labels=frozenset({"payment"})), Truth.YES),
            (Effect(unclear=frozenset({"payment"})), Truth.UNKNOWN),
            (Effect(labels=frozenset({"upload"})), Truth.NO),
            (None, Truth.UNKNOWN),
        ],
    )
    def test_effect(self, effect: Effect | None, truth: Truth) -> None:
        assert rule_matches(RuleWhen(effect=("payment", "download")), "click", effect, None, ()) is truth

    @pytest.mark.parametrize(("action", "truth"), [("click", Truth.YES), ("hover", Truth.NO), (None, Truth.UNKNOWN)])
    def test_action(self, action: str | None, truth: Truth) -> None:
        assert rule_matches(RuleWhen(action=("click", "fill")), action, None, None, ()) is truth

    @pytest.mark.parametrize(
        ("sent", "hidden", "truth"), [((), False, Truth.NO), ((), True, Truth.UNKNOWN), (("/a",), True, Truth.YES), (("/b", "/a"), False, Truth.YES), (("/b",), True, Truth.UNKNOWN)],
    )
    def test_requests(self, sent: tuple[str, ...], hidden: bool, truth: Truth) -> None:
        when = RuleWhen(request=RequestWhen(path=exact("/a")))
        assert rule_matches(when, "click", Effect(requests_unclear=hidden), None, [request(path) for path in sent]) is truth

    def test_element_of_a_request_alone_cannot_be_told(self) -> None:
        assert rule_matches(RuleWhen(element=ElementWhen()), None, None, None, ()) is Truth.UNKNOWN


class TestRequest:
    FORM = (("amount", "10"), ("amount", "5000"), ("pin", None))

    @pytest.mark.parametrize(
        ("when", "truth"),
        [
            (RequestWhen(), Truth.YES),
            (RequestWhen(method=("POST", "PUT")), Truth.YES),
            (RequestWhen(method=("post",)), Truth.YES),
            (RequestWhen(method=("PUT",)), Truth.NO),
            (RequestWhen(origin=(parse_pattern("https://*.example"),)), Truth.YES),
            (RequestWhen(origin=(parse_pattern("http://app.example"),)), Truth.NO),
            (RequestWhen(path=exact("/pay")), Truth.YES),
            (RequestWhen(path=exact("/pa")), Truth.NO),
            (RequestWhen(query={"to": exact("bob")}), Truth.YES),
            (RequestWhen(query={"to": exact("eve")}), Truth.NO),
            (RequestWhen(query={"to": exact("bob"), "cc": exact("bob")}), Truth.NO),
            (RequestWhen(form={"amount": search(r"^\d{4,}$")}), Truth.YES),
            (RequestWhen(form={"amount": exact("7")}), Truth.NO),
            (RequestWhen(form={"pin": exact("7")}), Truth.UNKNOWN),
            (RequestWhen(form={"pin": exact("7"), "amount": exact("7")}), Truth.NO),
        ],
    )
    def test_all_that_is_given_must_hold(self, when: RequestWhen, truth: Truth) -> None:
        assert request_matches(when, request("/pay", query=(("to", "ann"), ("to", "bob")), fields=self.FORM)) is truth

    def test_a_body_that_cannot_be_read_may_hold_anything(self) -> None:
        when = RequestWhen(form={"amount": exact("7")})
        assert request_matches(when, request(fields=UNKNOWN)) is Truth.UNKNOWN
        assert request_matches(when, request(fields=None)) is Truth.NO
        assert request_matches(RequestWhen(path=exact("/")), request(fields=UNKNOWN)) is Truth.YES

    @pytest.mark.parametrize(("sent", "truth"), [("role", Truth.YES), ("Role", Truth.UNKNOWN), ("roles", Truth.NO)])
    def test_a_name_in_other_letter_case_may_be_the_same(self, sent: str, truth: Truth) -> None:
        assert request_matches(RequestWhen(form={"role": exact("admin")}), request(fields=((sent, "admin"),))) is truth
        assert request_matches(RequestWhen(form={"role": exact("admin")}), request(fields=((sent, "user"),))) is Truth.NO

    @pytest.mark.parametrize(("sent", "truth"), [("/q?x=1;to=eve", Truth.UNKNOWN), ("/q?to=eve;x=1", Truth.UNKNOWN), ("/q?x=1%3Bto=eve", Truth.NO), ("/q;a?to=eve#;", Truth.YES)])
    def test_a_query_that_servers_part_in_two_ways_may_hold_anything(self, sent: str, truth: Truth) -> None:
        asked = Request(method="GET", address=parse(f"https://app.example{sent}"))
        assert request_matches(RequestWhen(query={"to": exact("eve")}), asked) is truth
        assert request_matches(RequestWhen(path=glob("/q**")), asked) is Truth.YES

    def test_a_method_in_lower_case_is_meant_too(self) -> None:
        assert request_matches(RequestWhen(method=("PATCH",)), request(method="patch")) is Truth.YES


class TestBackground:
    def test_it_must_match_for_certain(self) -> None:
        when = RequestWhen(method=("POST",), path=glob("/log/**"), form={"level": exact("info")})
        assert is_background(when, request("/log/1", fields=(("level", "info"),)))
        assert not is_background(when, request("/log/1", fields=UNKNOWN))
        assert not is_background(when, request("/log/1", fields=(("level", None),)))
        assert not is_background(when, request("/log/1", method="post", fields=(("level", "info"),)))

    def test_without_a_path_any_will_do(self) -> None:
        assert is_background(RequestWhen(), request("/a//b"))

    @pytest.mark.parametrize("path", ["/log/%2e%2e/x", "/log/..%2f..%2fadmin/x", "/log//x", "/log/a;b", "/log/%5c..%5cx", "/log/a%2fb", "/log/%2525252e"])
    def test_a_path_with_two_readings_is_none(self, path: str) -> None:
        assert disguised(path)
        assert not is_background(RequestWhen(path=glob("/log/**")), request(path))

    @pytest.mark.parametrize("path", ["/", "/log/x", "/log/x/", "/log/a%20b", "/log/%C3%A9", "/log/a.b"])
    def test_an_ordinary_path_is_not_disguised(self, path: str) -> None:
        assert not disguised(path)


class TestPaths:
    @pytest.mark.parametrize(
        ("pattern", "path", "holds"),
        [
            ("/api/**", "/api/a/b", True),
            ("/api/**", "/api/", True),
            ("/api/**", "/apis", False),
            ("/api/*", "/api/a", True),
            ("/api/*", "/api/a/b", False),
            ("/*/users", "/api/users", True),
            ("/*/users", "/api/v1/users", False),
            ("/**/users", "/api/v1/users", True),
            ("/a.b", "/a.b", True),
            ("/a.b", "/axb", False),
            ("/a", "/a\n", False),
            ("/**", "/a\nb", True),
        ],
    )
    def test_globs(self, pattern: str, path: str, holds: bool) -> None:
        assert (compiled(glob(pattern)[0]).search(path) is not None) is holds

    @pytest.mark.parametrize(
        ("sent", "read"),
        [
            ("/%61dmin", "/admin"), ("/%2561dmin", "/admin"), ("//admin", "/admin"), ("/x/../admin", "/admin"), ("/x/%2e%2e/admin", "/admin"),
            ("/x%2f..%2fadmin", "/admin"), ("/admin;jsessionid=1", "/admin"), ("/./admin/", "/admin/"), ("/../../admin", "/admin"), ("\\admin", "/admin"), ("/admin/x/..", "/admin/"),
            ("/admin", "/admin/"), ("/admin/", "/admin"), ("/", "/"), ("blank", "blank"), ("/%zz", "/%zz"), ("/%ff", "/\ufffd"),
        ],
    )
    def test_a_path_is_read_as_a_server_may(self, sent: str, read: str) -> None:
        assert read in path_forms(sent)
        assert sent in path_forms(sent)


@pytest.mark.parametrize(
    ("path", "truth"),
    [("/%64anger/x", Truth.YES), ("/%252564anger/x", Truth.YES), ("/%25252564anger/x", Truth.UNKNOWN), ("/%2525252564anger/x", Truth.UNKNOWN), ("/%252525/x", Truth.NO)],
)
def test_a_path_that_decodes_on_may_be_any(path: str, truth: Truth) -> None:
    assert request_matches(RequestWhen(path=glob("/danger/**")), request(path)) is truth
    assert request_matches(RequestWhen(path=glob("/danger/**"), method=("GET",)), request(path)) is Truth.NO


@pytest.mark.parametrize("pattern", ["(", "a{99999}", "(?=x)", "\ud800"])
def test_a_pattern_that_re2_refuses_is_an_error_of_one_line(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"^not an RE2 pattern: .+$"):
        compiled(search(pattern)[0])
