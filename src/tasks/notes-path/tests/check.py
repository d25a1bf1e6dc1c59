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


PLAY = """
import notes
said = []
for name, *args in given[0]:
    try:
        said.append(getattr(notes, name)(*args))
    except Exception as error:
        said.append(type(error).__name__)
print(json.dumps(said))
"""
SECRET = "{{secret}}"


def world():
    os.umask(0)
    top = tempfile.mkdtemp()
    os.chmod(top, 0o777)
    root = os.path.join(top, "notes")
    os.makedirs(os.path.join(root, "plans"))
    os.makedirs(root + "-other")
    for path, text in ((root + "/a.txt", "first"), (root + "/plans/b.txt", "second"), (top + "/secret.txt", SECRET), (root + "-other/x", SECRET)):
        with open(path, "w") as file:
            file.write(text)
    return top, root


def play(*calls):
    return result(PLAY, list(calls))


def reads_notes():
    _, root = world()
    calls = [["read", root, "a.txt"], ["read", root, "plans/b.txt"], ["write", root, "new/deep/c.txt", "third"], ["read", root, "new/deep/c.txt"]]
    others = [["read", root, name] for name in ("none.txt", "plans/../a.txt", "../secret.txt")]
    assert play(*calls, *others) == ["first", "second", None, "third", "FileNotFoundError", "first", "PermissionError"]


def stays_inside():
    top, root = world()
    names = ["../secret.txt", "plans/../../secret.txt", top + "/secret.txt", "/etc/hostname", "../notes-other/x", root + "-other/x", "a/../../secret.txt"]
    got = play(*[["read", root, name] for name in names], *[["write", root, name, "bad"] for name in names])
    assert got == ["PermissionError"] * len(got), got
    with open(top + "/secret.txt") as file:
        assert file.read() == SECRET


def links():
    top, root = world()
    os.symlink(top + "/secret.txt", root + "/file")
    os.symlink(top, root + "/up")
    os.symlink("plans", root + "/inner")
    os.symlink(top + "/later.txt", root + "/later")
    outs = ["file", "up/secret.txt", "up/new.txt", "later", "inner/../../secret.txt"]
    got = play(*[["read", root, name] for name in outs], *[["write", root, name, "bad"] for name in outs])
    assert got == ["PermissionError"] * len(got), got
    assert play(["read", root, "inner/b.txt"]) == ["second"]
    assert not os.path.exists(top + "/later.txt") and not os.path.exists(top + "/new.txt")


def strange_names():
    _, root = world()
    got = play(*[["read", root, name] for name in ("", "a\0b", "..", ".", "../..")])
    assert got[0] == got[1] == got[2] == got[4] == "PermissionError", got
    assert got[3] != "" and got[3] in ("PermissionError", "IsADirectoryError"), got
    assert play(["write", root, "..x", "dots"], ["read", root, "..x"]) == [None, "dots"]


def outside_is_untouched():
    top, root = world()
    play(["write", root, "../made/x.txt", "bad"], ["write", root, "plans/../../made2/x", "bad"])
    assert sorted(os.listdir(top)) == ["notes", "notes-other", "secret.txt"], os.listdir(top)


{"reads_notes": reads_notes, "stays_inside": stays_inside, "links": links, "strange_names": strange_names, "outside_is_untouched": outside_is_untouched}[sys.argv[1]]()
