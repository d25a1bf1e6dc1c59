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


import ast
import importlib.util

CASES = {{grams}}
CALL = """
import shipping
said = []
for name, grams, country in given[0]:
    try:
        said.append(getattr(shipping, name)(grams, country))
    except ValueError as error:
        said.append(str(error))
print(json.dumps(said))
"""
FACTORS = {"DE": 1.0, "FR": 1.4, "US": 2.5}
BASES = {"letter": (85, 1, 1000), "parcel": (450, 3, 30000), "express": (1500, 5, 20000)}


def right(name, grams, country):
    base, per, most = BASES[name]
    if country not in FACTORS:
        return "unknown country"
    if grams > most:
        return "too heavy"
    return round((base + per * (grams // 10)) * FACTORS[country])


def functions():
    with open("shipping.py") as file:
        return [node for node in ast.walk(ast.parse(file.read())) if isinstance(node, ast.FunctionDef)]


def check(cases):
    for node in functions():
        assert node.end_lineno - node.lineno < 12, node.name
    got = result(CALL, cases)
    wanted = [right(*case) for case in cases]
    assert got == wanted, [(case, a, b) for case, a, b in zip(cases, got, wanted) if a != b]


def same_prices():
    check([[name, grams, country] for name in BASES for grams in (0, 9, 10, 500, 999) for country in FACTORS])


def drawn_prices():
    check([[name, grams, country] for grams in CASES for name in BASES for country in FACTORS])


def refuses_as_before():
    check([["letter", 1000, "DE"], ["letter", 1001, "DE"], ["parcel", 30001, "XX"], ["parcel", 30001, "US"], ["express", 5, "de"]])


def says_it_once():
    with open("shipping.py") as file:
        text = file.read()
    for once in ("unknown country", "too heavy", '"US"', '"FR"'):
        assert text.replace("'", '"').count(once) == 1, once
    same_prices()


{"same_prices": same_prices, "drawn_prices": drawn_prices, "refuses_as_before": refuses_as_before, "says_it_once": says_it_once}[sys.argv[1]]()
