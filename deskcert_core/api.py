"""The public door for plug-ins: data and protocols, nothing that acts. The conformance kit is `deskcert_core.testing`."""

from deskcert_core.address import Address, Origin, OriginPattern
from deskcert_core.agent import AgentAdapter, Brief, Dialog, LastResult, ModelServiceError, Observation
from deskcert_core.approval import Approval, ApprovalOutcome, ApprovalRequest, Approver
from deskcert_core.budget import Usage
from deskcert_core.effect import Box, Effect, Element, Field, Form, Grounding, Request, Unknown
from deskcert_core.evaluation import Criterion, Evidence, Judgement, Look, Outcome, Probe, ProbeResult, RequestSeen, Step
from deskcert_core.execution import ExecutionResult
from deskcert_core.failure import Category, Failure, Finding
from deskcert_core.policy.rules import Decision, Status
from deskcert_core.proposal import ActionType, FinalStatus, Proposal, Target
from deskcert_core.report import Report, Reporter
from deskcert_core.score import AssertionCard, SuiteCard, TrialCard, Verdict
from deskcert_core.task import Assertion, Json, Task

API_VERSION = 1

__all__ = [
    "API_VERSION", "ActionType", "Address", "AgentAdapter", "Approval", "ApprovalOutcome", "ApprovalRequest", "Approver", "Assertion",
    "AssertionCard", "Box", "Brief", "Category", "Criterion", "Decision", "Dialog", "Effect", "Element", "Evidence", "ExecutionResult",
    "Failure", "Field", "FinalStatus", "Finding", "Form", "Grounding", "Json", "Judgement", "LastResult", "Look", "ModelServiceError",
    "Observation", "Origin", "OriginPattern", "Outcome", "Probe", "ProbeResult", "Proposal", "Report", "Reporter", "Request", "RequestSeen",
    "Status", "Step", "SuiteCard", "Target", "Task", "TrialCard", "Unknown", "Usage", "Verdict",
]
