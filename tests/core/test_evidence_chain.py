"""The chain: what was changed, dropped, swapped or cut in a journal shows, and a torn tail hides nothing before it."""

import random

import pytest

from deskcert_core.errors import EvidenceError
from deskcert_core.evidence import chain
from deskcert_core.evidence.record import Intended, Line, Note, Proposed, encode
from deskcert_core.proposal import ActionType, Proposal


def journal(name: str = "run/task/1", count: int = 6) -> bytes:
    raws, prev = [], chain.genesis(name)
    for seq in range(count):
        body = Proposed(step=seq, proposal=Proposal(action_type=ActionType.READ)) if seq % 2 else Intended(step=seq)
        raw = encode(Line(seq=seq, prev=prev, t_ns=seq * 10, body=body))
        raws.append(raw)
        prev = chain.link(raw)
    return b"".join(raw + b"\n" for raw in raws)


def test_a_journal_reads_back_whole():
    read = chain.read("run/task/1", journal())
    assert [line.seq for line in read.lines] == list(range(6))
    assert read.torn == 0


def test_a_torn_tail_hides_no_earlier_line():
    data = journal()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    for cut in range(last, len(data)):
        read = chain.read("run/task/1", data[:cut])
        assert len(read.lines) == 5
        assert read.torn == cut - last


def test_a_journal_of_another_name_is_refused():
    with pytest.raises(EvidenceError, match="line 1"):
        chain.read("run/task/2", journal())


def mutations(data: bytes, rng: random.Random):
    lines = data.splitlines(keepends=True)
    for _ in range(150):
        place = rng.randrange(len(data))
        flipped = bytes([data[place] ^ (1 << rng.randrange(8))])
        yield data[:place] + flipped + data[place + 1 :]
    for place in range(len(lines) - 1):
        yield b"".join(lines[:place] + lines[place + 1 :])
        yield b"".join([*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]])
        yield b"".join([*lines[:place], lines[place], *lines[place:]])


def test_no_mutation_of_a_journal_is_taken_for_the_journal():
    """150 bit flips, each line dropped, swapped, doubled. A change of the last line alone is the seal's to see: there only its own shape is checked."""
    data = journal()
    whole = chain.read("run/task/1", data)
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    accepted = 0
    for changed in mutations(data, random.Random(7)):
        try:
            read = chain.read("run/task/1", changed)
        except EvidenceError:
            continue
        # what is accepted is a true prefix, or differs only in the last line, which nothing follows yet
        assert read.lines[:5] == whole.lines[: len(read.lines[:5])]
        accepted += read.lines != whole.lines[: len(read.lines)]
        assert changed[:last] == data[:last] or len(read.lines) < 6
    assert accepted < 40


def test_records_survive_bytes_that_are_no_text():
    line = Line(seq=0, prev=chain.genesis("x"), t_ns=0, body=Note(what="a", detail={"lone": "\ud800", "nul": "\0", "rtl": "\u202e"}))
    read = chain.read("x", encode(line) + b"\n")
    assert read.lines[0].body == Note(what="a", detail={"lone": "?", "nul": "\0", "rtl": "\u202e"})
