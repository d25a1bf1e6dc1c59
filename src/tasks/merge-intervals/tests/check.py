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


STARTS = {{starts}}
WIDTHS = {{widths}}


def right(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return "".join(f"{start} {end}\n" for start, end in merged)


def check(intervals):
    text = "".join(f"{start} {end}\n" for start, end in intervals)
    assert run("merge.py", text=text).split() == right(intervals).split()


def overlapping():
    check([(1, 5), (2, 3), (4, 9), (20, 21)])


def touching():
    check([(1, 3), (3, 5), (6, 7), (8, 8)])


def unsorted():
    check([(50, 60), (-10, -5), (-7, 0), (55, 56)])


def drawn():
    check([(start, start + width) for start, width in zip(STARTS, WIDTHS)])


def nothing():
    assert run("merge.py", text="\n") == ""


{"overlapping": overlapping, "touching": touching, "unsorted": unsorted, "drawn": drawn, "nothing": nothing}[sys.argv[1]]()
