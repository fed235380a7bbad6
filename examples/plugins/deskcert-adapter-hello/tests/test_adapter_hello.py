from deskcert_adapter_hello import Hello

from deskcert_core.testing import check_adapter, check_adapter_process, observation


def test_it_conforms() -> None:
    check_adapter(Hello)
    check_adapter_process(Hello)


def test_it_says_the_title() -> None:
    *_, last = check_adapter(Hello, options={"greeting": "Hi"}, sees=[observation(title="Invoices")])
    assert last.answer == "Hi, this page is Invoices"
