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


import re

SEED = {{seed}}


def check(pairs):
    printed = run("calc.py", text="".join(f"{given}\n" for given, _ in pairs)).splitlines()
    assert printed == [str(wanted) for _, wanted in pairs], printed
    with open("calc.py") as file:
        source = file.read()
    used = re.findall(r"(?<![.\w])(?:eval|exec|compile)\s*\(|\bimport\s+ast\b|\bfrom\s+ast\b", source)
    assert used == [], used


def precedence():
    check([("1+2*3", 7), ("2*3+4", 10), ("10-4-3", 3), ("100/10/5", 2), ("7%4*2", 6), ("8 - 6 / 4", 7), ("  42 ", 42), ("007", 7)])


def parentheses():
    check([("(1+2)*3", 9), ("((((5))))", 5), ("2*(3-(4-5))", 8), ("-(2+3)", -5), ("(7)-(8)", -1), ("(2+3)^2", 25)])


def signs():
    check([("-3+5", 2), ("2*-3", -6), ("--4", 4), ("+-+4", -4), ("5--2", 7), ("-7/2", -4), ("7/-2", -4), ("-7%3", 2), ("7%-3", -2)])


def powers():
    check([("2^10", 1024), ("2^3^2", 512), ("-2^2", -4), ("(-2)^2", 4), ("2*3^2", 18), ("0^0", 1), ("2^0^5", 1), ("4^3/2", 32)])


def refuses():
    wrong = ["", "1+", "(1", "1)", "1 2", "a", "1/0", "5%0", "2^-1", "2^1001", "*3", "()", "1.5", "2**3", "1//2", "3(4)", "١"]
    check([(one, "error") for one in wrong])


def drawn():
    draw = random.Random(SEED)

    def make(depth):
        if depth == 0 or draw.random() < 0.2:
            number = draw.randrange(0, 30)
            return str(number), number
        if draw.random() < 0.2:
            text, value = make(depth - 1)
            return f"-({text})", -value
        (a, x), (b, y) = make(depth - 1), make(depth - 1)
        operator = draw.choice("+-*/%" if y != 0 else "+-*")
        space = draw.choice(["", " "])
        value = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: x // y, "%": lambda: x % y}[operator]()
        return f"({a}{space}{operator}{space}({b}))", value

    check([make(5) for _ in range(60)])


{"precedence": precedence, "parentheses": parentheses, "signs": signs, "powers": powers, "refuses": refuses, "drawn": drawn}[sys.argv[1]]()
