"""A suite's folder becomes a suite: DESIGN's own files, variables, every cross check at its place, and nothing but InputError for garbage."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from suite_folder import CRITERIA, FILES, SuiteFolder

from deskcert_core.budget import ModelPrice
from deskcert_core.errors import InputError, PluginError, UsageError
from deskcert_core.loading import load_suite
from deskcert_core.proposal import ActionType

# the text of the design, word for word
DESIGN_SUITE = """\
version: 1
name: invoice-demo
tasks: ["tasks/*.yaml"]
policy: policy.yaml
trials: 1
concurrency: serial                       # or a number: only where trials do not share the application's data
environments:                             # --env NAME; the first is the default
  local:   {base_url: "http://127.0.0.1:8000", serve: {command: [python, app.py], url: "http://127.0.0.1:8000/health", timeout_seconds: 30}, reset: [python, reset.py], disposable: true}
  staging: {base_url: "https://admin.corp.example:8443", tls: {ca: corp-ca.pem}, disposable: false}
sessions:                                 # logging in is done outside the agent, as Playwright's setup project does
  clerk: {setup: tasks/login.yaml, check: {url: "/admin/", selector: "#user-tools"}, max_age_seconds: 3600}   # or storage_state: FILE
secrets: {clerk_password: {env: CLERK_PASSWORD, origins: ["${base_url}"]}}     # value from env, file, command or keyring
agents:  {scripted: {adapter: scripted}, claude: {adapter: claude, options: {model: "…"}, env: [ANTHROPIC_API_KEY], endpoint: "https://models.example"}}
approver: deny
plugins: []                               # distributions that ci may load
costs: costs.yaml
gate: {min_score: 70, violation_weight: 50}
"""
DESIGN_ASSERTIONS = """\
assertions:
  - {type: contains_text, value: "$1,248.92"}                 # in any observation of the trial or the final answer; new: true demands that it was absent at the start
  - {type: contains_text, value: "Success: invoice total confirmed."}
  - {type: max_steps, value: 20}
  - {type: no_policy_violations, value: true}
  - {type: final_status, value: success}
  - {type: max_cost_usd, value: 1.0}
"""
DESIGN_POLICY = """\
version: 1
name: invoice-demo
extends: []                      # pack:NAME or a path; a child can only tighten
containment: proxy               # least that will do: netns | proxy
actions:   {allowed: [goto, click, fill, read, submit_form, finish]}       # what may be proposed
effects:   {allowed: [], approval_required: [form_submit, download, external_navigation], blocked: [payment, file_delete, shell_command, package_install, password_change]}
domains:   {allowed: ["${base_url}"], approval_required: [], blocked: []}  # scheme, host, port
requests:  {writes: approval_required, background: [{method: [POST], path: "/metrics"}]}
files:     {roots: ["./site"]}
network:   {private: [], upstream_proxy: none}
limits:    {max_steps: 20, max_runtime_seconds: 60, max_cost_usd: 1.0, max_repeats: 3, max_dialogs: 5}
on_block: stop                   # stop | tell_agent
on_denied: stop
approvals: {min_assurance: auto, quorum: 1, not_operator: false, expires_seconds: 300, max_wait_seconds: 900}   # waiting for a person stops the runtime clock
redact: []
classifiers: []                  # deskcert.effects beyond the built-in
rules:                           # the fine print
  - {id: never-delete, decision: blocked, when: {request: {method: [DELETE], path: "/api/**"}}}
  - {id: no-danger-button, decision: blocked, when: {element: {role: button, name: {matches: "(?i)delete|remove"}}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> SuiteFolder:
    return SuiteFolder(tmp_path)


def test_the_files_of_the_design_load(folder: SuiteFolder) -> None:
    folder.write("deskcert.yaml", DESIGN_SUITE)
    folder.write("policy.yaml", DESIGN_POLICY)
    folder.write("tasks/buy.yaml", "version: 1\nid: confirm\ngoal: Confirm it\nstart_url: /\nsession: clerk\n" + DESIGN_ASSERTIONS)
    folder.change("tasks/login.yaml", "secret:password", "secret:clerk_password")
    loaded = folder.load()
    suite, policy = loaded.suite, loaded.policy
    (task,) = suite.tasks
    assert (task.id, task.start_url, task.session, task.script, task.limits.max_cost_micro_usd) == ("confirm", "http://127.0.0.1:8000/", "clerk", None, 1_000_000)
    assert [(a.type, a.params) for a in task.assertions][2] == ("max_steps", {"value": 20})
    assert suite.environment.serve is not None
    assert suite.environment.serve.command == ("python", "app.py"), "python stays a word: the session puts the interpreter in"
    assert (suite.environment.name, suite.environment.reset, suite.environment.disposable) == ("local", ("python", "reset.py"), True)
    assert suite.secrets["clerk_password"].origins == ("http://127.0.0.1:8000",)
    assert (suite.agents["claude"].options, suite.agents["claude"].endpoint, suite.agents["claude"].env) == ({"model": "…"}, "https://models.example/", ("ANTHROPIC_API_KEY",))
    login = suite.logins["clerk"]
    assert (login.check_url, login.check_selector, login.max_age_seconds) == ("http://127.0.0.1:8000/admin/", "#user-tools", 3600)
    assert login.setup is not None
    assert login.setup.script is not None
    assert login.setup.script[0].action_type is ActionType.FILL
    assert (suite.trials, suite.concurrency, suite.approver, suite.plugins) == (1, "serial", "deny", ())
    assert policy.file_roots == (str(folder.path / "site"),)
    assert policy.lines["blocked.payment"] == "policy.yaml:6"
    assert policy.lines["rules.never-delete"] == "policy.yaml:18"


def test_the_small_suite_and_its_prices(folder: SuiteFolder) -> None:
    suite = folder.load().suite
    assert [task.id for task in suite.tasks] == ["buy"], "a log-in is no task, though the glob finds it"
    assert (suite.costs.per_screenshot, suite.costs.per_action) == (4000, 1000)
    assert suite.costs.models == {"m": ModelPrice(input=3_000_000, output=15_000_001, cache_read=300_000)}
    assert suite.root == str(folder.path)


def test_a_file_will_do_as_well_as_its_folder(folder: SuiteFolder) -> None:
    assert load_suite(folder.path / "deskcert.yaml", criteria=CRITERIA) == folder.load()


def test_the_environment_is_chosen(folder: SuiteFolder) -> None:
    suite = folder.load("other").suite
    assert suite.tasks[0].start_url == "https://app.example:8443/shop"
    assert suite.secrets["password"].origins == ("https://app.example:8443",)
    with pytest.raises(UsageError, match="no environment 'othr'; did you mean 'other'"):
        folder.load("othr")


def test_limits_only_tighten(folder: SuiteFolder) -> None:
    folder.change("tasks/buy.yaml", "session: clerk", "limits: {max_steps: 900, max_runtime_seconds: 5.5, max_cost_usd: 0.5}")
    limits = folder.load().suite.tasks[0].limits
    assert (limits.max_steps, limits.max_runtime_seconds, limits.max_cost_micro_usd, limits.max_repeats) == (20, 5.5, 500_000, 3)
    folder.change("policy.yaml", "max_cost_usd: 1.0", "max_cost_usd: none")
    assert folder.load().suite.tasks[0].limits.max_cost_micro_usd == 500_000
    folder.change("tasks/buy.yaml", ", max_cost_usd: 0.5", "")
    assert folder.load().suite.tasks[0].limits.max_cost_micro_usd is None


def test_a_suite_over_file_urls(folder: SuiteFolder) -> None:
    folder.change("deskcert.yaml", '"http://127.0.0.1:8000"', '"${suite}/the site"')
    folder.change("policy.yaml", "files: {roots: []}", 'files: {roots: ["./the site"]}')
    folder.change("tasks/buy.yaml", "start_url: /shop", "start_url: index.html")
    folder.change("tasks/login.yaml", "start_url: /login", 'start_url: "${base_url}/login.html"')
    suite = folder.load().suite
    assert suite.tasks[0].start_url == f"{folder.path.as_uri()}/the%20site/index.html"
    folder.change("tasks/buy.yaml", "start_url: index.html", 'start_url: "${base_url}/%2e%2e%2fother.html"')
    assert folder.problems() == [f"tasks/buy.yaml:4:12: {folder.path}/other.html is outside files.roots of the policy small"]
    folder.change("tasks/buy.yaml", "%2e%2e%2fother.html", "../the site2/x.html")
    assert folder.problems() == [f"tasks/buy.yaml:4:12: {folder.path}/the site2/x.html is outside files.roots of the policy small"]


def test_variables_in_scripts_and_assertions(folder: SuiteFolder) -> None:
    folder.change("tasks/buy.yaml", 'url: "/end"', 'url: "${base_url}/end?a=b"')
    folder.change("tasks/buy.yaml", "value: bought", 'value: {deep: ["${base_url}/x", "plain $${base_url} and $5"]}')
    task = folder.load().suite.tasks[0]
    assert task.script is not None
    assert task.script[1].url == "http://127.0.0.1:8000/end?a=b"
    assert task.assertions[0].params == {"value": {"deep": ["http://127.0.0.1:8000/x", "plain ${base_url} and $5"]}}


def test_a_script_may_propose_what_a_policy_must_refuse(folder: SuiteFolder) -> None:
    folder.change("tasks/buy.yaml", 'url: "/end"', 'url: "http://user:pw@evil.example/%zz"')
    script = folder.load().suite.tasks[0].script
    assert script is not None
    assert script[1].url == "http://user:pw@evil.example/%zz"


ONLY = [
    ("deskcert.yaml", "disposable: true}", "disposable: false, reset: [python, reset.py]}", "6:65: reset is for a disposable environment: say `disposable: true`"),
    ("tasks/buy.yaml", "type: contains_text", "type: contans_text", "11:12: assertions[0].type: 'contans_text' is not known, did you mean 'contains_text'?"),
    ("tasks/buy.yaml", "value: 5", "value: five", "12:30: assertions[1].value: must be a whole number, not 'five'"),
    ("tasks/buy.yaml", "value: 5", "vaule: 5", "12:23: assertions[1]: unknown key 'vaule', did you mean 'value'?"),
    ("tasks/buy.yaml", "type: max_steps, value: 5", 'type: request_made, url: "${nope}/x"', "12:31: ${nope} is not known: there are ${suite}"),
    ("tasks/buy.yaml", "type: max_steps, value: 5", 'type: request_made, url: "${base_url"', "12:31: ${base_url is not known"),
    ("tasks/buy.yaml", "type: max_steps, value: 5", 'type: request_made, matches: "a(b"', "12:35: not an RE2 pattern: missing ): a(b"),
    ("tasks/buy.yaml", "session: clerk", "session: clrk", "5:10: the suite has no session 'clrk'; did you mean 'clerk'?"),
    ("tasks/buy.yaml", "secret:password", "secret:pasword", "7:59: the suite has no secret 'pasword'; did you mean 'password'?"),
    ("tasks/buy.yaml", "{{secret:password}}", "{{ secret:password }}", "7:59: a secret is written {{secret:NAME}}"),
    ("tasks/buy.yaml", "label: Password", 'label: "{{secret:password}}"', "7:41: a secret may only be typed: in the value of fill or type"),
    ("tasks/buy.yaml", 'url: "/end"', 'url: "/end?p={{secret:password}}"', "8:30: a secret may only be typed: in the value of fill or type"),
    ("tasks/buy.yaml", "start_url: /shop", 'start_url: "https://127.0.0.1:8000/"', "4:12: https://127.0.0.1:8000 is not in the domains of the policy small"),
    ("tasks/buy.yaml", "start_url: /shop", 'start_url: "http://127.0.0.1:8001/"', "4:12: http://127.0.0.1:8001 is not in the domains of the policy small"),
    ("tasks/buy.yaml", "start_url: /shop", 'start_url: "http://a:b@127.0.0.1:8000/"', "cannot be used: a URL with a user name or password in it"),
    ("tasks/buy.yaml", "start_url: /shop", 'start_url: "javascript:alert(1)"', "4:12: javascript:alert(1) is not an address of http or https or file"),
    ("tasks/buy.yaml", "start_url: /shop", 'start_url: "file://host/etc/passwd"', "4:12: file://host/etc/passwd names a host"),
    ("tasks/buy.yaml", "start_url: /shop", 'start_url: "http://a b/"', "4:12: 'http://a b/' cannot be used"),
    ("tasks/buy.yaml", "session: clerk", "limits: {max_cost_usd: 0.0000001}", "5:24: money has at most six decimals"),
    ("tasks/buy.yaml", "id: buy", "id: ../../etc", "2:5: id: '../../etc' does not fit."),
    ("tasks/buy.yaml", "goal: Buy it", 'goal: ""', "3:7: goal: is empty"),
    ("tasks/buy.yaml", "- {type: contains_text, value: bought}\n  - {type: max_steps, value: 5}", "[]", "11:3: assertions: is empty"),
    ("tasks/login.yaml", "start_url: /login", "start_url: /login\nsession: clerk", "5:1: unknown key 'session'"),
    ("tasks/login.yaml", "script:\n  - {action_type: fill, target: {label: Password}, value: \"{{secret:password}}\"}", "tags: []", "1:1: 'script' is missing"),
    ("costs.yaml", "0.004", "0.0040001", "2:21: money has at most six decimals"),
    ("costs.yaml", "0.004", "-0.004", "2:21: per_screenshot_usd: must be at least 0"),
    ("costs.yaml", "input_usd_per_million", "input_usd", "5:7: models.m: unknown key 'input_usd', did you mean 'input_usd_per_million'?"),
    ("deskcert.yaml", "name: small", "name: small\nnmae: x", "3:1: unknown key 'nmae', did you mean 'name'?"),
    ("deskcert.yaml", "gate: {min_score: 70, violation_weight: 50}", "", "1:1: 'gate' is missing"),
    ("deskcert.yaml", "tasks/*.yaml", "none/*.yaml", "3:9: 'none/*.yaml' finds no task"),
    ("deskcert.yaml", "tasks/*.yaml", "tasks/login.yaml", "3:9: 'tasks/login.yaml' finds no task"),
    ("deskcert.yaml", "tasks/*.yaml", "/**", "3:9: '/**' must be relative to the suite's folder"),
    ("deskcert.yaml", "setup: tasks/login.yaml", "storage_state: state.json", "9:26: 'state.json' does not exist"),
    ("deskcert.yaml", "${base_url}", "${base_ulr}", "11:39: ${base_ulr} is not known: there are ${suite}"),
    ("deskcert.yaml", "${base_url}", "https://*.example", "11:39: a secret is bound to whole origins: * is not allowed"),
    ("deskcert.yaml", "${base_url}", "https://a.example/path", "11:39: 'https://a.example/path' cannot be used: an origin has no path and no query"),
    ("deskcert.yaml", "${base_url}", "a.example", "11:39: 'a.example' cannot be used: not an origin"),
    ("deskcert.yaml", '"http://127.0.0.1:8000"', '"127.0.0.1"', "6:21: '127.0.0.1' is not absolute"),
    ("deskcert.yaml", '"http://127.0.0.1:8000"', '"${base_url}"', "6:21: ${base_url} is not known"),
    ("deskcert.yaml", '"https://app.example:8443"', '"ftp://app.example"', "7:21: ftp://app.example/ is not an address of http or https or file"),
    ("deskcert.yaml", "disposable: true", "disposable: true, tls: {ca: none.pem}", "6:74: 'none.pem' does not exist"),
    ("deskcert.yaml", "disposable: true", 'disposable: true, serve: {command: [a], url: "ftp://x/", timeout_seconds: 1}', "6:91: ftp://x/ is not an address of http or https"),
    ("deskcert.yaml", 'url: "/admin/"', 'url: "http://["', "9:49: 'http://[' cannot be used"),
]


@pytest.mark.parametrize(("name", "old", "new", "said"), ONLY)
def test_one_thing_wrong_is_one_problem_at_its_place(folder: SuiteFolder, name: str, old: str, new: str, said: str) -> None:
    folder.load()
    folder.change(name, old, new)
    found = folder.problems()
    assert any(line.startswith(f"{name}:") and said in line for line in found), found
    assert len(found) <= 2, found


def test_all_files_are_told_at_once(folder: SuiteFolder) -> None:
    folder.change("deskcert.yaml", "name: small", "nmae: small")
    folder.change("costs.yaml", "0.004", "yes")
    folder.change("policy.yaml", "on_block: stop", "on_block: stpo")
    folder.change("tasks/buy.yaml", "goal: Buy it", "gaol: Buy it")
    folder.write("tasks/other.yaml", "[")
    assert {line.split(":")[0] for line in folder.problems()} == {"deskcert.yaml", "costs.yaml", "policy.yaml", "tasks/buy.yaml", "tasks/other.yaml"}


@pytest.mark.parametrize(("name", "said"), [("policy.yaml", "does not exist"), ("costs.yaml", "does not exist"), ("tasks/login.yaml", "does not exist")])
def test_a_missing_file(folder: SuiteFolder, name: str, said: str) -> None:
    (folder.path / name).unlink()
    assert f"{name}: {said}" in folder.problems()


def test_a_missing_suite(folder: SuiteFolder) -> None:
    for path, said in {folder.path / "tasks": "has no deskcert.yaml: `deskcert init` writes one", folder.path / "nope": "does not exist"}.items():
        with pytest.raises(InputError) as caught:
            load_suite(path, criteria=CRITERIA)
        assert str(caught.value) == f"{path}: {said}"


def test_two_tasks_of_one_id(folder: SuiteFolder) -> None:
    folder.write("tasks/zwei.yaml", FILES["tasks/buy.yaml"].replace("id: buy", "id: Buy"))
    assert folder.problems() == [f"tasks/zwei.yaml:2:5: 'Buy' is already the id of {folder.path}/tasks/buy.yaml"]


def test_a_task_found_by_two_globs_is_one_task(folder: SuiteFolder) -> None:
    folder.change("deskcert.yaml", '["tasks/*.yaml"]', '["tasks/*.yaml", "tasks/buy.yaml", "**/buy.yaml"]')
    assert [task.id for task in folder.load().suite.tasks] == ["buy"]


def test_paths_are_shown_as_the_user_named_the_suite(folder: SuiteFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.path.parent)
    folder.change("policy.yaml", "on_block: stop", "on_block: stpo")
    with pytest.raises(InputError, match=rf"^{folder.path.name}/policy\.yaml:12:11: on_block: 'stpo' is not known, did you mean 'stop'"):
        load_suite(folder.path.name, criteria=CRITERIA)
    monkeypatch.chdir(folder.path)
    with pytest.raises(InputError, match=r"^policy\.yaml:12:11"):
        load_suite(".", criteria=CRITERIA)


def test_a_criterion_that_is_used_and_broken_is_the_plug_ins_fault(folder: SuiteFolder) -> None:
    broken = {**CRITERIA, "max_steps": SimpleNamespace(version="1", schema={"type": "nonsense"})}
    with pytest.raises(PluginError, match="the schema of criterion max_steps is not a JSON Schema") as caught:
        load_suite(folder.path, criteria=broken)
    assert "\n" not in str(caught.value)
    folder.change("tasks/buy.yaml", "  - {type: max_steps, value: 5}\n", "")
    assert load_suite(folder.path, criteria=broken), "nobody asks for it"
