import json
import os
import random
import subprocess
import sys
import tempfile

# Executes a program as the user of the agent, which can read no test.
TRY = "/.holdfast/try"


def run(*args, text="", code=0, seconds=20):
    done = subprocess.run([TRY, sys.executable, *args], input=text, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == code, f"exit code {done.returncode}: {done.stderr}"
    return done.stdout


def result(program, *values):
    """What a program that has the values as `given` writes as JSON in its last line; it runs in a process of its own."""
    script = "import json, sys\nsys.path.insert(0, '.')\ngiven = [json.loads(one) for one in sys.argv[1:]]\n" + program
    return json.loads(run("-c", script, *[json.dumps(value) for value in values]).splitlines()[-1])


VALUES = {{values}}

COUNTING = """
from search import find


class Counted(list):
    looks = 0

    def __getitem__(self, index):
        Counted.looks += 1
        assert Counted.looks < 100000, "never ends"
        return super().__getitem__(index)

    def __iter__(self):
        raise AssertionError("looks at every element")

    def __contains__(self, item):
        raise AssertionError("looks at every element")

    def index(self, *args):
        raise AssertionError("looks at every element")


print(json.dumps([[find(Counted(given[0]), wanted) for wanted in given[1]], Counted.looks]))
"""


def check(values, wanted):
    found, looks = result(COUNTING, values, wanted)
    assert found == [values.index(one) if one in values else -1 for one in wanted], found
    assert looks <= 40 * len(wanted), looks


def found():
    check([1, 3, 5, 7, 9, 11], [1, 3, 5, 7, 9, 11])


def first_of_equal():
    check([2, 2, 2, 4, 4, 6, 6, 6, 6], [2, 4, 6])


def missing():
    check([1, 3, 5], [0, 2, 4, 6])
    check([], [1])


def drawn():
    values = sorted(VALUES)
    check(values, list(range(min(values) - 1, max(values) + 2)))


{"found": found, "first_of_equal": first_of_equal, "missing": missing, "drawn": drawn}[sys.argv[1]]()
