"""The names that a page bears, kept where they may prove something: a target that is not there, a point that hit another control."""

from __future__ import annotations

import pytest
from conftest import Shower

from deskcert_core.proposal import ActionType, Target

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("impatient")]
A = ActionType
GHOST = Target(role="button", name="Approve")
PLAIN = "<p>Invoice</p><a href=/x>Confirm</a><label>Total <input placeholder='in euros' title=amount></label><button aria-label=Close>x</button>"


def test_where_nothing_matches_every_name_is_kept(show: Shower) -> None:
    grounding = show(PLAIN).ground(A.CLICK, GHOST)
    assert (grounding.problem or "").endswith(": no element matches")
    assert set(grounding.names or ()) == {"Confirm", "Total", "in euros", "amount", "x", "Close"}
    assert grounding.all_named


@pytest.mark.parametrize("more", [
    "<img src=data: width=9 height=9>", "<canvas width=9 height=9></canvas>", "<svg width=9 height=9></svg>", "<button><i style='padding:9px'></i></button>",
    "<div style='width:9px;height:9px;background:url(data:)'></div>", "<iframe sandbox src='data:text/html,<button>Approve</button>'></iframe>",
    "<my-menu style='padding:9px'></my-menu>", f"<button>{'x' * 150}</button>",
])
def test_what_might_show_another_name_is_no_proof(show: Shower, more: str) -> None:
    assert not show(PLAIN + more).ground(A.CLICK, GHOST).all_named


def test_at_a_point_the_controls_names_are_kept(show: Shower) -> None:
    grounding = show("<p title=para style='margin:0;height:50px'>Invoice</p><a href=/x>Confirm</a>").ground(A.CLICK, Target(x=20, y=20))
    assert (grounding.names, grounding.all_named) == (("Confirm",), False)


def test_elsewhere_nothing_is_asked(show: Shower) -> None:
    assert show(PLAIN).ground(A.CLICK, Target(role="link", name="Confirm")).names is None
