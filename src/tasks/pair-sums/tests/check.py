import json
import os
import random
import subprocess
import sys
import tempfile

# Executes a program as the user of the agent, which can read no test.
TRY = "/.holdfast/try"


def run(*args, text="", code=0, seconds=20, limit=()):
    done = subprocess.run([TRY, *limit, sys.executable, *args], input=text, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == code, f"exit code {done.returncode}: {done.stderr}"
    return done.stdout


def result(program, *values):
    """What a program that has the values as `given` writes as JSON in its last line; it runs in a process of its own."""
    script = "import json, sys\nsys.path.insert(0, '.')\ngiven = [json.loads(one) for one in sys.argv[1:]]\n" + program
    return json.loads(run("-c", script, *[json.dumps(value) for value in values]).splitlines()[-1])


import collections

SEED = {{seed}}


def right(total, numbers):
    seen, pairs = collections.Counter(), 0
    for number in numbers:
        pairs += seen[total - number]
        seen[number] += 1
    return pairs


# Of a processor: that others have it at the same time is not the program's fault.
TWO_SECONDS = ["sh", "-c", 'ulimit -t 2; exec "$@"', "sh"]


def check(total, numbers):
    printed = run("pairs.py", text=f"{total}\n" + " ".join(map(str, numbers)) + "\n", seconds=50, limit=TWO_SECONDS)
    assert printed.strip() == str(right(total, numbers)), printed


def counts():
    check(10, [1, 9, 5, 5, 5, 3, 7, 100, -90])
    check(0, [])
    draw = random.Random(SEED)
    check(draw.randrange(50), [draw.randrange(-30, 60) for _ in range(300)])
    check(12345, [draw.randrange(-(10**6), 10**6) for _ in range(200000)])


def equal_numbers():
    check(8, [4] * 50)
    check(0, [0, 0, 0, 1, -1])
    draw = random.Random(SEED)
    check(100, [draw.randrange(101) for _ in range(200000)])


def no_pairs():
    check(1, list(range(1, 200001)))


{"counts": counts, "equal_numbers": equal_numbers, "no_pairs": no_pairs}[sys.argv[1]]()
