"""Which acts belong to a goal: read from the JSON file that the environment names. Every player below plays the same ones."""

import json
import os
from pathlib import Path


def plans(path=None):
    return json.loads(Path(path or os.environ["ACTS"]).read_text())


def for_goal(text, found):
    """The acts of the plan whose goal stands in the text."""
    (acts,) = [plan["acts"] for plan in found if plan["goal"] in text]
    return acts


def proposal(act):
    return {key: value for key, value in act.items() if key != "point"}
