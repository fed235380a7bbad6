from deskcert_criterion_hello import SaysHello

from deskcert_core.testing import check_criterion, evidence


def test_it_conforms() -> None:
    check_criterion(SaysHello, {"word": "hello"}, passes=evidence(answer="Hello, world"), fails=evidence(answer="Good bye"))


def test_the_word_may_be_left_out() -> None:
    check_criterion(SaysHello, {}, passes=evidence(answer="hello"), fails=evidence(answer=None))
