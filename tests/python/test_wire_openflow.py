"""The Rust codec and os-ken read the same OpenFlow messages from the same bytes, and write the same bytes."""

import json
from typing import Any

import pytest

import rust_example

pytest.importorskip("os_ken", reason="os-ken is not installed: pip install -e .[dev]")

import openflow_cases
import openflow_reader
from openflow_cases import Case, Fields

SEED = 20_261_122
PER_KIND = 40


def ask_rust(frames: list[bytes]) -> list[Fields]:
    answers = rust_example.run("openflow_json", [frame.hex() for frame in frames])
    return [json.loads(line) for line in answers.splitlines()]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return openflow_cases.draw(SEED, PER_KIND)


@pytest.fixture(scope="module")
def answers(cases: list[Case]) -> list[Fields]:
    return ask_rust([case.frame for case in cases])


def parts(value: object, name: str) -> list[Any]:
    """What stands under that name anywhere within."""
    if isinstance(value, dict):
        return [part for key, item in value.items() for part in ([item] if key == name else parts(item, name))]
    return [part for item in value for part in parts(item, name)] if isinstance(value, list) else []


def test_the_cases_cover_what_they_must(cases: list[Case]) -> None:
    kinds = [case.kind for case in cases]
    assert {kind: kinds.count(kind) for kind in kinds} == {kind.__name__: PER_KIND for kind in openflow_cases.KINDS}
    matches = [match for case in cases for match in parts(case.body, "match")]
    for name, (maskable, _) in openflow_cases.KNOWN.items():
        values = [match[name] for match in matches if name in match]
        assert sum(not isinstance(value, list) for value in values) >= 10, name
        assert sum(isinstance(value, list) for value in values) >= 10 * maskable, name
    assert sum("other" in match for match in matches) >= 10
    for name in ("goto_table", "apply_actions", "write_actions", "clear_actions", "other", "output"):
        assert sum(len(parts(case.body, name)) for case in cases) >= 10, name


def test_rust_reads_what_os_ken_wrote(cases: list[Case], answers: list[Fields]) -> None:
    for case, answer in zip(cases, answers, strict=True):
        read = (answer.get("xid"), answer.get("body"))
        assert read == (case.xid, case.body), (case.frame.hex(), answer)


def test_rust_writes_the_bytes_that_os_ken_wrote(cases: list[Case], answers: list[Fields]) -> None:
    for case, answer in zip(cases, answers, strict=True):
        assert answer["emitted"] == case.frame.hex(), case.body


def test_os_ken_reads_what_rust_wrote(answers: list[Fields]) -> None:
    read = set()
    for answer in answers:
        kind = next(iter(answer["body"]))
        if kind in openflow_reader.READABLE:
            assert openflow_reader.read(bytes.fromhex(answer["emitted"])) == (answer["xid"], answer["body"])
            read.add(kind)
    assert read == openflow_reader.READABLE
