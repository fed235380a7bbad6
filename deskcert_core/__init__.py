"""DeskCert's core: it decides. The flow, file by file, in the order of one trial (a test holds this list to the import contract):

errors         what can go wrong, and whose fault it is
document       one strict YAML file, with the line and column of everything in it
schemas        a document held against its JSON Schema
budget         steps, repeats, run time and money, before each act
words          what English names hint at, and what an agent admits to
amounts        numbers and money as people and models write them
address        a canonical URL and its origin
proposal       what an agent may ask for
task           suite, environments, tasks, limits: what a run is about
agent          what an agent sees, and the protocol it speaks
wire           the words between DeskCert and the agent's process
effect         what a proposal would hit in the page, and the labels that follow
policy         allowed, approval_required or blocked: rules and engine
execution      the browser, as the core sees it
approval       the question to a person, and the answer
evidence       what is written down, before and after each act
trial          a journal read back as evidence
evaluation     assertions judged from evidence alone
drift          where a replay went another way than the run it replays
perception     what an agent saw wrong, where the recorded page proves it
outage         where the application itself let a trial down
failure        one category for each failed trial, by precedence
score          one card for each trial, one for the suite
gate           one act or one request, from proposal to verdict, without I/O
report         what a reporter is given
plugins        how strangers' code is found, checked and loaded
loading        files become a resolved suite
judging        a run folder becomes scorecards and reports
session        the imperative shell: runs the gate with real drivers
api            the public door: data and protocols
testing        the public door: the conformance kit
"""

__version__ = "0.1.0"
