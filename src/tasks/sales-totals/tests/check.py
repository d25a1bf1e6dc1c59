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


import csv
import io

UNITS = {{units}}


def right(rows):
    totals = {}
    for region, _, units, cents in rows:
        if region:
            before = totals.get(region, (0, 0))
            totals[region] = (before[0] + units, before[1] + units * cents)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["region", "units", "cents"])
    for region, (units, cents) in sorted(totals.items(), key=lambda item: (-item[1][1], item[0])):
        writer.writerow([region, units, cents])
    return out.getvalue()


def check(rows):
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as file:
        os.chmod(file.name, 0o644)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["region", "product", "units", "cents"])
        writer.writerows(rows)
        file.flush()
        assert run("totals.py", file.name).splitlines() == right(rows).splitlines()


def given_file():
    with open("sales.csv", newline="") as file:
        rows = [(a, b, int(c), int(d)) for a, b, c, d in list(csv.reader(file))[1:]]
    assert run("totals.py", "sales.csv").splitlines() == right(rows).splitlines()


def other_file():
    regions = ["North", "South, inner", "", "East", "West"]
    check([(regions[n % 5], "p", units, 100 + n) for n, units in enumerate(UNITS)])


def order():
    check([("b", "x", 2, 50), ("a", "x", 1, 100), ("c", "x", 1, 101)])


def no_rows():
    check([])


{"given_file": given_file, "other_file": other_file, "order": order, "no_rows": no_rows}[sys.argv[1]]()
