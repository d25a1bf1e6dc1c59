/**
 * Judges the tests of a repository: takes the test files of the base commit, applies the patch of the tests, and reads what pytest says
 * of each. What it starts belongs to the user of the agent, since the repository is that user's.
 */
export const GRADE_PROGRAM = `import json, os, re, subprocess, sys

tests = os.environ.get("GRADE_TESTS", "/tmp/tests")
runner = os.environ.get("GRADE_TRY", "/.holdfast/try")
with open(f"{tests}/expected.json") as file:
    expected = json.load(file)
with open(f"{tests}/test.patch") as file:
    patch = file.read()

env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1")
conda = "/opt/miniconda3/envs/testbed/bin"
if os.path.isdir(conda):
    env["PATH"] = f"{conda}:{env['PATH']}"


def tried(*argv, **more):
    return subprocess.run([runner, *argv], env=env, text=True, capture_output=True, **more)


def needed(done):
    if done.returncode != 0:
        sys.exit(f"{' '.join(done.args[1:4])} ended with {done.returncode}: {done.stderr[-2000:]}")


git = ["git", "-c", f"safe.directory={os.getcwd()}"]
touched = sorted(set(re.findall(r"^(?:---|\\+\\+\\+) [ab]/(.+?)\\s*$", patch, re.M)))
for path in touched:
    if tried(*git, "cat-file", "-e", f"{expected['base']}:{path}").returncode == 0:
        needed(tried(*git, "checkout", expected["base"], "--", path))
    else:
        needed(tried("rm", "-f", "--", path))
needed(tried(*git, "apply", "--whitespace=nowarn", "-", input=patch))

names = [*expected["mustPass"], *expected["mayNotBreak"]]
files = sorted({name.split("::")[0] for name in names})
done = tried("python3", "-m", "pytest", "-rA", "--tb=no", "-p", "no:cacheprovider", *files)
# SWE-bench cuts a name at its first space, so that several tests may have it: each of them has to pass.
told = {}
for status, name in re.findall(r"^(PASSED|XFAIL|FAILED|ERROR|XPASS|SKIPPED) (.+)$", done.stdout, re.M):
    whole = name if status == "PASSED" else name.split(" - ")[0]
    for one in {whole, name.split()[0]}:
        told.setdefault(one, set()).add(status)
failing = [name for name in names if not told.get(name) or told[name] - {"PASSED", "XFAIL"}]
print(f"{len(names) - len(failing)} of {len(names)} tests passed")
for name in failing[:50]:
    print(f"failed  {name}")
if failing:
    print(done.stdout[-2000:], done.stderr[-2000:])
sys.exit(1 if failing else 0)
`;
