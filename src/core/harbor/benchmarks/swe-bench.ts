import { type JsonObject, jsonOrNull } from '../../json.js';
import type { TaskInput } from '../../tasks/task-definition.js';
import { literally } from '../../tasks/task-texts.js';
import { slugOf } from '../harbor-config.js';
import {
  type BenchmarkLine,
  Importing,
  type ImportOptions,
  type ImportReport,
  NotFitting,
  neededText,
  noteUnread,
  objectsIn,
  textIn,
} from './imported.js';

/** Issues of repositories, as SWE-bench has them: an image with the repository, a patch of the tests, and names of tests. */

const READ = new Set([
  ...['instance_id', 'repo', 'base_commit', 'problem_statement', 'patch', 'test_patch'],
  ...['FAIL_TO_PASS', 'PASS_TO_PASS', 'version', 'created_at', 'image_name', 'docker_image', 'difficulty'],
]);
const WORKDIR = '/testbed';

export const isSweBench = (value: JsonObject): boolean =>
  textIn(value, 'instance_id') !== null && textIn(value, 'test_patch') !== null;

export function importSweBench(lines: readonly BenchmarkLine[], { image }: ImportOptions): ImportReport {
  const importing = new Importing();
  for (const [line, value] of objectsIn(lines, importing))
    importing.take(textIn(value, 'instance_id') ?? line, (note) => taskOf(value, image, note));
  return importing.report();
}

function taskOf(value: JsonObject, image: string | null, note: (text: string) => void): TaskInput {
  const id = neededText(value, 'instance_id');
  const testPatch = neededText(value, 'test_patch');
  const mustPass = testsIn(value, 'FAIL_TO_PASS');
  const mayNotBreak = testsIn(value, 'PASS_TO_PASS');
  if (mustPass.length === 0) throw new NotFitting('its field FAIL_TO_PASS names no test');
  const odd = [...mustPass, ...mayNotBreak].find((name) => !/^[^\s:]+\.py::/.test(name));
  if (odd !== undefined)
    throw new NotFitting(`its tests are not named as pytest names them (path::test): ${odd.slice(0, 80)}`);
  const patch = textIn(value, 'patch');
  noteUnread(value, READ, note);
  if (patch === null) note('patch: not there, so that the task has no reference solution');
  const named = textIn(value, 'image_name') ?? textIn(value, 'docker_image');
  if (image === null && named === null) note('image: named as the images of SWE-bench are; pull it before');
  const files = { 'test.patch': literally(testPatch), 'grade.py': literally(GRADE_PROGRAM) };
  return {
    ...{ name: slugOf(id), version: '1.0.0', category: 'issue', difficulty: difficultyIn(value, note) },
    tags: ['python', 'swe-bench'],
    instruction: literally(
      `The repository ${neededText(value, 'repo')} is in ${WORKDIR}. Resolve this issue by a change of its files. Do not change the tests.\n\n${neededText(value, 'problem_statement')}\n`,
    ),
    environment: { image: image?.split('{id}').join(id) ?? named ?? imageOf(id), workdir: WORKDIR },
    verification: {
      files: {
        ...files,
        'expected.json': literally(JSON.stringify({ base: neededText(value, 'base_commit'), mustPass, mayNotBreak })),
      },
      tests: [{ name: 'tests of the issue', command: ['python3', '-P', '/tmp/tests/grade.py'], timeoutSeconds: 3600 }],
      timeoutSeconds: 3900,
    },
    ...(patch === null
      ? {}
      : {
          solution: {
            script: 'git apply --whitespace=nowarn .solution/patch && rm -r .solution',
            files: { '.solution/patch': literally(patch) },
          },
        }),
    metadata: { source: { format: 'swe-bench', instance: id, repo: neededText(value, 'repo') } },
  };
}

/** The public name of the image of an instance. */
const imageOf = (id: string): string =>
  `swebench/sweb.eval.x86_64.${id.toLowerCase().replaceAll('__', '_1776_')}:latest`;

/** A list, or its JSON as a text. */
function testsIn(value: JsonObject, key: string): readonly string[] {
  const given = value[key];
  const list: unknown = typeof given === 'string' ? jsonOrNull(given) : given;
  if (!Array.isArray(list) || !list.every((one) => typeof one === 'string'))
    throw new NotFitting(`its field ${key} is no list of names`);
  return list;
}

const DIFFICULTIES: Readonly<Record<string, TaskInput['difficulty']>> = {
  '<15 min fix': 'easy',
  '15 min - 1 hour': 'medium',
  '1-4 hours': 'hard',
  '>4 hours': 'expert',
};

function difficultyIn(value: JsonObject, note: (text: string) => void): TaskInput['difficulty'] {
  const known = DIFFICULTIES[textIn(value, 'difficulty') ?? ''];
  if (known === undefined) note('difficulty: not said; hard here');
  return known ?? 'hard';
}

/**
 * Judges the tests of a repository: takes the test files of the base commit, applies the patch of the tests, and reads what pytest says
 * of each. What it starts belongs to the user of the agent, since the repository is that user's.
 */
const GRADE_PROGRAM = `import json, os, re, subprocess, sys

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
