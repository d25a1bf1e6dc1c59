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


def flatten(value):
    return json.loads(run("flat.py", "flatten", text=json.dumps(value)))


def there_and_back(value, flat=None):
    got = flatten(value)
    assert flat is None or got == flat, got
    assert all(not isinstance(one, (dict, list)) or not one for one in got.values()), got
    restored = json.loads(run("flat.py", "restore", text=json.dumps(got)))
    assert json.dumps(restored, sort_keys=True) == json.dumps(value, sort_keys=True), restored


def flattens():
    there_and_back({"a": {"b": [1, 2, {"c": None}]}, "d": True}, {"a.b.[0]": 1, "a.b.[1]": 2, "a.b.[2].c": None, "d": True})


def restores():
    there_and_back([[["x"]], "y"], {"[0].[0].[0]": "x", "[1]": "y"})
    there_and_back(list(range(12)))


def empty_things():
    there_and_back({"a": {}, "b": [], "c": ""}, {"a": {}, "b": [], "c": ""})
    for value in (7, "text", None, {}, []):
        there_and_back(value, {"": value})


def keys_with_dots():
    there_and_back({"a.b": {"c\\": 1}, "[0]": 2, "\\.": [3]}, {"a\\.b.c\\\\": 1, "\\[0]": 2, "\\\\\\..[0]": 3})


def drawn():
    draw = random.Random(SEED)

    def make(depth):
        kind = draw.randrange(4) if depth else 0
        if kind == 0:
            return draw.choice([1, "x", None, False, 2.5, [], {}])
        if kind == 1:
            return [make(depth - 1) for _ in range(draw.randrange(4))]
        return {"".join(draw.choice("ab.[]\\0") for _ in range(draw.randrange(1, 4))): make(depth - 1) for _ in range(draw.randrange(4))}

    for _ in range(12):
        there_and_back(make(5))


{"flattens": flattens, "restores": restores, "empty_things": empty_things, "keys_with_dots": keys_with_dots, "drawn": drawn}[sys.argv[1]]()
