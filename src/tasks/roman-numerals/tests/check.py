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


NUMBERS = {{numbers}}
PARTS = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX")]
PARTS += [(5, "V"), (4, "IV"), (1, "I")]


def roman(number):
    text = ""
    for value, letters in PARTS:
        text += letters * (number // value)
        number %= value
    return text


def check(pairs):
    printed = run("roman.py", text="".join(f"{given}\n" for given, _ in pairs)).splitlines()
    assert printed == [str(wanted) for _, wanted in pairs], printed


def to_roman():
    check([(n, roman(n)) for n in (1, 4, 9, 14, 40, 90, 400, 944, 1994, 2026, 3999)])


def from_roman():
    check([(roman(n), n) for n in (1, 4, 9, 14, 40, 90, 400, 944, 1994, 2026, 3999)])


def refuses():
    wrong = ["0", "4000", "-3", "007", "IIII", "VX", "IC", "MMMM", "ix", "IVI", "12a", "", "1.5", "XCX", "VIV"]
    check([(one, "invalid") for one in wrong])


def drawn():
    check([(n, roman(n)) for n in NUMBERS] + [(roman(n), n) for n in NUMBERS])


{"to_roman": to_roman, "from_roman": from_roman, "refuses": refuses, "drawn": drawn}[sys.argv[1]]()
