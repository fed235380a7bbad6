"""The conformance kit: what DeskCert expects of a plug-in, as plain functions for pytest. Each raises AssertionError with a line for the author.

    from deskcert_core.testing import check_criterion, evidence

    def test_it_conforms():
        check_criterion(SaysHello, {"value": "hello"}, passes=evidence(answer="hello"), fails=evidence(answer="good bye"))

DeskCert's own plug-ins pass the same checks. docs/testing.md has every rule.
"""

from deskcert_core.testing.adapter import check_adapter
from deskcert_core.testing.criterion import check_criterion
from deskcert_core.testing.drivers import check_approver, check_reporter
from deskcert_core.testing.process import check_adapter_process, check_model_fault
from deskcert_core.testing.values import brief, decision, evidence, observation, report, request_seen, step, task

__all__ = [
    "brief", "check_adapter", "check_adapter_process", "check_approver", "check_criterion", "check_model_fault", "check_reporter", "decision", "evidence",
    "observation", "report", "request_seen", "step", "task",
]
