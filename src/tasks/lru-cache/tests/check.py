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


SEED = {{seed}}

PLAY = """
from cache import Cache
cache = Cache(given[0])
said = [getattr(cache, name)(*args) for name, *args in given[1]]
print(json.dumps([said, cache.keys()]))
"""


def right(capacity, calls):
    entries, said = [], []
    for name, *args in calls:
        there = [entry for entry in entries if entry[0] == (args or [None])[0]]
        if name == "keys":
            said.append([key for key, _ in entries])
        elif name == "get":
            said.append(there[0][1] if there else None)
            entries = there + [entry for entry in entries if entry not in there]
        else:
            said.append(None)
            entries = ([(args[0], args[1])] + [entry for entry in entries if entry[0] != args[0]])[:capacity]
    return [said, [key for key, _ in entries]]


def check(capacity, calls):
    got = result(PLAY, capacity, calls)
    assert got == right(capacity, calls), got


def keeps():
    check(3, [["put", "a", 1], ["put", "b", 2], ["get", "a"], ["get", "c"], ["put", "a", 3], ["get", "a"], ["keys"]])


def forgets_the_oldest():
    check(2, [["put", "a", 1], ["put", "b", 2], ["put", "c", 3], ["get", "a"], ["get", "b"], ["get", "c"]])
    check(1, [["put", "a", 1], ["put", "b", 2], ["get", "a"]])


def reading_counts():
    check(2, [["put", "a", 1], ["put", "b", 2], ["get", "a"], ["put", "c", 3], ["keys"], ["put", "d", 4], ["get", "a"]])


def drawn():
    draw = random.Random(SEED)
    names = [f"k{n}" for n in range(12)]
    calls = [draw.choice([["get", draw.choice(names)], ["put", draw.choice(names), n], ["keys"]]) for n in range(300)]
    check(draw.randrange(2, 9), calls)


def is_fast():
    program = """
from cache import Cache
cache = Cache(50000)
for n in range(100000):
    cache.put(n % 70000, n)
    cache.get(n // 2)
print(json.dumps(len(cache.keys())))
"""
    assert result(program) == 50000


{"keeps": keeps, "forgets_the_oldest": forgets_the_oldest, "reading_counts": reading_counts, "drawn": drawn, "is_fast": is_fast}[sys.argv[1]]()
