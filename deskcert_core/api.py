"""The public door for plug-ins: data, protocols, and the pure functions that judges share with the policy. Nothing here acts.

The conformance kit is `deskcert_core.testing`.
"""


from deskcert_core.address import Address, Origin, OriginPattern, parse, parse_pattern
from deskcert_core.agent import AgentAdapter, Brief, Dialog, LastResult, ModelServiceError, Observation
from deskcert_core.amounts import amounts, numbers
from deskcert_core.approval import Approval, ApprovalOutcome, ApprovalRequest, Approver
from deskcert_core.budget import Usage
from deskcert_core.effect import Box, Effect, Element, Field, Form, Grounding, Request, Unknown
from deskcert_core.evaluation import Criterion, Evidence, Judgement, Look, Outcome, Probe, ProbeResult, RequestSeen, Step
from deskcert_core.execution import ExecutionResult
from deskcert_core.failure import Category, Failure, Finding, violations
from deskcert_core.policy.match import Truth, any_matches, request_matches
from deskcert_core.policy.rules import Decision, RequestWhen, Status, TextMatch
from deskcert_core.proposal import ActionType, FinalStatus, Proposal, Target
from deskcert_core.report import Report, Reporter, scorecard_json
from deskcert_core.score import AssertionCard, SuiteCard, TrialCard, Verdict
from deskcert_core.task import Assertion, Json, Task

API_VERSION = 1

__all__ = [
    "API_VERSION", "ActionType", "Address", "AgentAdapter", "Approval", "ApprovalOutcome", "ApprovalRequest", "Approver", "Assertion",
    "AssertionCard", "Box", "Brief", "Category", "Criterion", "Decision", "Dialog", "Effect", "Element", "Evidence", "ExecutionResult",
    "Failure", "Field", "FinalStatus", "Finding", "Form", "Grounding", "Json", "Judgement", "LastResult", "Look", "ModelServiceError",
    "Observation", "Origin", "OriginPattern", "Outcome", "Probe", "ProbeResult", "Proposal", "Report", "Reporter", "Request", "RequestSeen",
    "RequestWhen", "Status", "Step", "SuiteCard", "Target", "Task", "TextMatch", "TrialCard", "Truth", "Unknown", "Usage", "Verdict",
    "amounts", "any_matches", "numbers", "parse", "parse_pattern", "request_matches", "scorecard_json", "violations",
]
