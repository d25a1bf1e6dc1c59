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


import collections

SEED = {{seed}}
FORM = r'(\S+) \S+ \S+ \[[^\]]+\] "[A-Z]+ (\S+) HTTP/[0-9.]+" ([0-9]{3}) ([0-9]+|-)$'


def right(text):
    import re

    lines = [line for line in text.split("\n") if line.strip()]
    requests = [match.groups() for match in (re.match(FORM, line) for line in lines) if match]
    paths = collections.Counter(path.split("?")[0] for _, path, _, _ in requests)
    return {
        "requests": len(requests),
        "broken": len(lines) - len(requests),
        "bytes": sum(0 if size == "-" else int(size) for *_, size in requests),
        "statuses": dict(collections.Counter(status for _, _, status, _ in requests)),
        "paths": [list(item) for item in sorted(paths.items(), key=lambda item: (-item[1], item[0]))[:3]],
        "errors": sorted({address for address, _, status, _ in requests if int(status) >= 500}),
    }


def check(text):
    with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
        os.chmod(file.name, 0o644)
        file.write(text)
        file.flush()
        printed = json.loads(run("report.py", file.name))
    assert printed == right(text), printed


def given_log():
    with open("access.log") as file:
        text = file.read()
    assert json.loads(run("report.py", "access.log")) == right(text)


def drawn_log():
    draw = random.Random(SEED)
    lines = []
    for _ in range(400):
        address = f"203.0.113.{draw.randrange(1, 30)}"
        path = draw.choice(["/", "/a", "/b?x=1", "/b", "/c/d", "/c/d?y", "/e"])
        status = draw.choice([200, 200, 200, 304, 404, 500, 503])
        size = draw.choice(["-", str(draw.randrange(90000))])
        lines.append(f'{address} - - [12/Mar/2026:10:15:32 +0000] "{draw.choice(["GET", "POST"])} {path} HTTP/1.1" {status} {size}')
    check("\n".join(lines) + "\n")


def broken_lines():
    check('hello\n\n203.0.113.9 - ann [x] "GET /q HTTP/2" 200 7\n203.0.113.9 - - [x] "GET /q" 200 7\n  \n')


def empty_log():
    check("")


{"given_log": given_log, "drawn_log": drawn_log, "broken_lines": broken_lines, "empty_log": empty_log}[sys.argv[1]]()
