import { posix } from 'node:path';
import type { JudgedFile } from '../../src/core/containers/environment.js';
import { PRINTED_REPORT } from '../../src/core/containers/environment-spec.js';
import { GIVEN } from '../../src/core/containers/guarded-variables.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { bytesOf, type TaskFiles } from '../../src/core/tasks/task-file.js';
import {
  isSuite,
  missingInSuite,
  type SuiteRunner,
  type TaskVerification,
  TESTS_DIR,
  TRY_PATH,
} from '../../src/core/tasks/task-verification.js';
import {
  countsAfter,
  countsOfGo,
  countsOfJunit,
  countsOfTap,
  type NoReport,
  shareByCounts,
  type TestCounts,
} from '../../src/core/tasks/test-report.js';
import { type GoSuite, goSuite, JEST_RUNNER, jestOptions, NODE_APART_RUNNER, NODE_RUNNER } from './node-runner.js';
import { PYTHON_RUNNERS } from './python-runner.js';
import type { JudgedEnvironment } from './verification-environment.js';

/** Where the files of a runner are, and where it reports. Other directories than that of the tests, and none is left from a test before. */
const RUNNER_DIR = '/tmp/.tests-runner';
const REPORT_DIR = posix.dirname(PRINTED_REPORT);
const SENTINEL = `${REPORT_DIR}/sentinel`;
const REPORT = `${REPORT_DIR}/report`;
const REPORT_BYTES = 16_777_216;
const SENTINEL_BYTES = 256;

/** Runs a runner, whose output is its report. Its input is a random line. Arguments: the program and its arguments. */
const RUN_SUITE = `
sentinel=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')
[ "\${#sentinel}" = 32 ] && printf '%s' "$sentinel" >${SENTINEL} || exit 74
printf '%s\\n' "$sentinel" | "$@" >${REPORT}
`;

/** The same where the process of the tests is the agent's user's, which must be able to read them. It gets no guarded variable back. */
const RUN_APART = `export ${GIVEN}=; chmod 755 ${TESTS_DIR} ${RUNNER_DIR}; chmod -R go+rX ${TESTS_DIR} ${RUNNER_DIR}${RUN_SUITE}`;

/**
 * Runs tests of Node.js whose program is in a process of the agent's user. Where the tests look for packages and their settings, that
 * user finds a place taken. Arguments: the program Node.js with its options, and the files of the suite.
 */
const RUN_NODE_APART = `
at=$(mktemp -d /tmp/.tests-peer.XXXXXX) && mkfifo "$at/to" "$at/from" || exit 74
mkdir -p /tmp/node_modules && { [ -e /tmp/package.json ] || echo '{}' >/tmp/package.json; } || exit 74
${TRY_PATH} sh -c 'exec 3<&0 4>&1 </dev/null >&2; exec node -e "$1"' sh "$(cat ${RUNNER_DIR}/program.cjs)" <"$at/to" >"$at/from" &
program=$!
HOLDFAST_PEER=$at "$@"
code=$?
kill "$program" 2>/dev/null
rm -rf "$at" /tmp/node_modules /tmp/package.json
exit "$code"
`;

const KEEP_OUTPUT = `exec "$@" >${PRINTED_REPORT}`;

/** Compiles the tests of each package and runs them there. Arguments: a directory of its own, the names of the tests, the packages. */
const GO = `
read -r sentinel
# Nothing in /tmp can be executed.
at=$(mktemp -d ./.tests.XXXXXX) && at=$(cd "$at" && pwd) || exit 1
# From Go 1.25 on, "go tool" compiles test2json and executes it there.
export GOTMPDIR="$at"
names=$1
shift
for package in "$@"; do
  go test -c -vet=off -overlay ${RUNNER_DIR}/overlay.json -o "$at/tests" "./$package" >&2 || exit 1
  printf '%s\\n' "$sentinel" | ( cd "$package" && "$at/tests" -test.v=test2json "-test.run=$names" ) | go tool test2json -p "$package"
done
rm -rf "$at"
`;

type Test = TaskVerification['tests'][number];

/** A test as it is run. */
export interface PlannedSuite {
  readonly argv: readonly string[];
  /** Beside those of the test. */
  readonly files: readonly JudgedFile[];
  readonly remove: readonly string[];
  readonly make: readonly string[];
  readonly share: (environment: JudgedEnvironment, exitCode: number | null) => Promise<SuiteShare>;
}

interface SuiteShare {
  readonly share: number;
  readonly why: string;
}

/** How a test with a runner is run, and what is read of it; null: it has none. */
export function plannedSuite(test: Test, files: TaskFiles, workdir: string): PlannedSuite | null {
  const { runner } = test;
  if (runner === undefined) return null;
  const place = { remove: [RUNNER_DIR, REPORT_DIR], make: [RUNNER_DIR, REPORT_DIR] };
  if (!isSuite(runner)) {
    const read = runner === 'tap' ? tapIn : (environment: JudgedEnvironment) => junitIn(environment, test.rewardFiles);
    const command = test.command ?? [];
    return {
      ...place,
      argv: runner === 'tap' ? ['sh', '-c', KEEP_OUTPUT, 'sh', ...command] : command,
      files: [],
      share: async (environment, exitCode) => judge(test, exitCode, await read(environment)),
    };
  }
  const missing = missingInSuite(test, files);
  const go = runner === 'go test' ? goSuite(textsOf(files), test.suite ?? [], { ...DIRECTORIES, workdir }) : null;
  return {
    ...place,
    argv: argvOf(test, runner, go, workdir),
    files: Object.entries(go?.files ?? (test.apart === true ? NODE_APART_RUNNER : FILES[runner])).map(
      ([name, text]) => ({
        ...{ path: posix.join(RUNNER_DIR, name), bytes: Buffer.from(text), mode: '644' },
      }),
    ),
    share: async (environment, exitCode) =>
      judge(test, exitCode, missing.length > 0 ? { why: noSuite(missing) } : await countsIn(environment, go)),
  };
}

const noSuite = (missing: readonly string[]): string =>
  `its suite names files that the task does not bring: ${missing.slice(0, 10).join(', ')}`;

const DIRECTORIES = { runner: RUNNER_DIR, tests: TESTS_DIR };

const FILES: { readonly [R in SuiteRunner]: Readonly<Record<string, string>> } = {
  unittest: { 'run.py': PYTHON_RUNNERS.unittest },
  pytest: { 'run.py': PYTHON_RUNNERS.pytest },
  'node:test': NODE_RUNNER,
  jest: JEST_RUNNER,
  'go test': {},
};

const textsOf = (files: TaskFiles): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([path, file]) => [path, bytesOf(file).toString('utf8')]));

function argvOf(
  { suite = [], apart }: Test,
  runner: SuiteRunner,
  go: GoSuite | null,
  workdir: string,
): readonly string[] {
  const asAgent = ['sh', '-c', RUN_APART, 'sh', TRY_PATH];
  switch (runner) {
    case 'unittest':
    case 'pytest':
      return ['sh', '-c', RUN_SUITE, 'sh', 'python3', '-I', `${RUNNER_DIR}/run.py`, ...suite];
    case 'node:test': {
      const reporter = `--test-reporter=file://${RUNNER_DIR}/reporter.mjs`;
      const begin = ['--import', `file://${RUNNER_DIR}/begin.mjs`, reporter, '--test-reporter-destination=stdout'];
      const node = ['node', ...begin, `${RUNNER_DIR}/main.mjs`, ...suite];
      if (apart !== true) return [...asAgent, ...node];
      return ['sh', '-c', RUN_SUITE, 'sh', 'sh', '-c', RUN_NODE_APART, 'sh', ...node];
    }
    case 'jest': {
      const paths = suite.map((path) => posix.join(TESTS_DIR, path));
      return [...asAgent, 'jest', ...jestOptions(RUNNER_DIR, TESTS_DIR, workdir), ...paths];
    }
    case 'go test':
      return [...asAgent, 'sh', '-c', GO, 'sh', `^(${(go?.names ?? []).join('|')})$`, ...(go?.packages ?? [])];
  }
}

function judge(
  { tests = null }: { readonly tests?: number | null },
  exitCode: number | null,
  found: Found,
): SuiteShare {
  if ('why' in found) return { share: 0, why: found.why };
  const { share, why } = shareByCounts(found, tests);
  // What passed as a whole also ends well.
  return share >= 1 && exitCode !== 0 ? { share: 0, why: `${why}, and exit code ${exitCode}` } : { share, why };
}

type Found = TestCounts | NoReport;

async function textIn(environment: JudgedEnvironment, path: string, maxBytes: number): Promise<string | NoReport> {
  try {
    return (await environment.readOwn(path, maxBytes)).bytes.toString('utf8');
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'file_unreadable') throw error;
    return { why: `its report cannot be read: ${error.message}` };
  }
}

async function countsIn(environment: JudgedEnvironment, go: GoSuite | null): Promise<Found> {
  const sentinel = await textIn(environment, SENTINEL, SENTINEL_BYTES);
  if (typeof sentinel !== 'string') return sentinel;
  const report = await textIn(environment, REPORT, REPORT_BYTES);
  if (typeof report !== 'string') return report;
  return go === null ? countsAfter(report, sentinel) : countsOfGo(report, sentinel, go);
}

async function tapIn(environment: JudgedEnvironment): Promise<Found> {
  const report = await textIn(environment, PRINTED_REPORT, REPORT_BYTES);
  return typeof report === 'string' ? countsOfTap(report) : report;
}

async function junitIn(environment: JudgedEnvironment, paths: readonly string[]): Promise<Found> {
  let found: string | NoReport = { why: `it wrote no report: ${paths.join(', ')}` };
  for (const path of paths) {
    found = await textIn(environment, path, REPORT_BYTES);
    if (typeof found === 'string') return countsOfJunit(found);
  }
  return typeof found === 'string' ? { why: 'it wrote no report' } : found;
}
