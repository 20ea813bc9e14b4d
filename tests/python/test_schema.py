"""The JSON Schema says what the parser says."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import handfast as hf
from conftest import ROOT, edited
from handfast import _handfast

TESTS = ROOT / "crates" / "scenario" / "tests"
SHIPPED = sorted((ROOT / "scenarios").glob("*.toml"))


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = json.loads(_handfast.schema())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def complaints(validator: Draft202012Validator, text: str) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(tomllib.loads(text))]


def test_scenarios_are_shipped() -> None:
    assert len(SHIPPED) >= 5


@pytest.mark.parametrize("path", [*SHIPPED, TESTS / "everything.toml"], ids=lambda path: path.stem)
def test_scenarios_satisfy_it(validator: Draft202012Validator, path: Path) -> None:
    assert complaints(validator, path.read_text(encoding="utf-8")) == []


def test_the_old_name_of_a_key_is_right(validator: Draft202012Validator) -> None:
    base = (TESTS / "errors" / "base.toml").read_text(encoding="utf-8")
    text = edited(base, 'sender = "sack"', 'sender = {profile = "sack", growth = "cubic"}')
    assert complaints(validator, text) == []
    hf.parse(text, "base.toml")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('duration = "30s"', 'duration = "30 parsec"'),
        ('duration = "30s"', "duration = 30"),
        ('rate = "20Mbit/s"', 'rte = "20Mbit/s"'),
        ('queue = "100pkt"', 'queue = "100"'),
        ('queue = "100pkt"', 'queue = "codl"'),
        ('queue = "100pkt"', 'queue = {target = "5ms"}'),
        ('queue = "100pkt"', 'queue = {discipline = "codel", targt = "5ms"}'),
        ('queue = "100pkt"', 'queue = {discipline = "codel", target = "5pkt"}'),
        ('queue = "100pkt"', "loss = 1.5"),
        ('queue = "100pkt"', "loss = {bits = 0.1}"),
        ('queue = "100pkt"', "loss = {bit = 0.1, list = [3]}"),
        ('{kind = "station"}', '{kind = "sation"}'),
        ('["ap1", "mn"]', '["ap1", "mn", "cn"]'),
        ('app = "bulk"', "app = {transfer = 3}"),
        ('do = "outage"', 'do = "handoff"'),
        ('kind = "station"', 'kind = "station", ap = 1'),
        ('name = "radio"', 'name = "the radio"'),
        ('sender = "sack"', 'sender = "sackk"'),
        ('sender = "sack"', 'sender = {profile = "sack", rto_minimum = "1s"}'),
        ('sender = "sack"', 'sender = {profile = "sack", growth = "reno", congestion_control = "reno"}'),
        ('from = "cn"\n', ""),
    ],
)
def test_it_rejects_what_the_parser_rejects(validator: Draft202012Validator, right: str, wrong: str) -> None:
    base = (TESTS / "errors" / "base.toml").read_text(encoding="utf-8")
    text = base.replace(right, wrong, 1)
    assert text != base
    with pytest.raises(hf.ScenarioError):
        hf.parse(text, "base.toml")
    assert complaints(validator, text)
