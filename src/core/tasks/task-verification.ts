import { z } from 'zod';
import { type EnvironmentSpec, isWithin, RECORDS_DIR } from '../containers/environment-spec.js';
import { clashes, pathProblem, type TaskFile, type TaskFiles, taskFiles, taskText } from './task-file.js';

/** How it is found out what an agent has done: in a copy of its container, after it has ended. */

/** Where the files of tests are put. In memory, in no container that the agent had, and readable for the user of the tests alone. */
export const TESTS_DIR = '/tmp/tests';

/** A good place for a reward file. */
const OUTSIDE = '/tmp/reward.txt';

/** By what a test executes a program as the user of the agent. */
export const TRY_PATH = `${RECORDS_DIR}/try`;

const LONGEST_TIMEOUT_SECONDS = 3600;

const word = taskText(65_536);

/** A text is read by `sh -c`. */
export const taskCommand = z.union(
  [
    word.min(1).transform((text) => ['sh', '-c', text]),
    z
      .array(word)
      .min(1)
      .max(1000)
      .refine(([program]) => program !== '', 'begins with an empty text'),
  ],
  { error: 'expected a text for a shell, or a list of a program and its arguments' },
);

const place = taskText(4096).refine(
  (path) =>
    path.startsWith('/') &&
    !path
      .slice(1)
      .split('/')
      .some((part) => ['', '.', '..'].includes(part)),
  'is not an absolute path without "//", "." and ".."',
);

/** Runners that Holdfast brings: they run the files of a suite. */
export const SUITE_RUNNERS = ['unittest', 'pytest', 'node:test', 'jest', 'go test'] as const;
/** What a command of the test reports. */
export const REPORTS = ['tap', 'junit'] as const;
export type SuiteRunner = (typeof SUITE_RUNNERS)[number];

export const isSuite = (runner: string | undefined): runner is SuiteRunner =>
  SUITE_RUNNERS.some((one) => one === runner);

const taskTest = z.strictObject({
  name: taskText(200).min(1),
  /** Begins in the workspace. It passes with exit code 0. Unset where a runner runs a suite. */
  command: taskCommand.exactOptional(),
  /** What runs the suite, or reads what the command reports. Unset: the exit code says whether it passed. */
  runner: z.enum([...SUITE_RUNNERS, ...REPORTS]).exactOptional(),
  /** The files that the runner runs, below `/tmp/tests`. */
  suite: z
    .array(z.string().refine((path) => pathProblem(path) === null, 'is no path below /tmp/tests'))
    .min(1)
    .max(1000)
    .exactOptional(),
  /** Whether the runner runs the program in a process of its own, as the agent's user, and the tests in another one. */
  apart: z.literal(true).exactOptional(),
  /** How many tests the runner must find. */
  tests: z.int().min(1).max(1_000_000).exactOptional(),
  /** Which of `expectedOutputs` the standard output of the command has to be, from 0. White space at ends of lines does not count. */
  prints: z.int().min(0).max(99).exactOptional(),
  timeoutSeconds: z.int().min(1).max(LONGEST_TIMEOUT_SECONDS).default(60),
  weight: z.number().positive().max(1000).default(1),
  /** Of this test, beside those that all have. */
  files: taskFiles.default({}),
  /**
   * Where the test itself writes how much of it passed, from 0 to 1: a number, or a JSON object whose `reward` is one. The first
   * that is there counts, and none is 0. Without a path the exit code says it.
   */
  rewardFiles: z.array(place).max(4).default([]),
});

export const taskVerification = z
  .strictObject({
    /** Those of every test, below `/tmp/tests`. */
    files: taskFiles.default({}),
    tests: z.array(taskTest).min(1, 'holds no test').max(200),
    /** Whether what was written compiles: exit code 0. */
    compile: taskCommand.nullable().default(null),
    /** Whether it is clean: exit code 0. */
    lint: taskCommand.nullable().default(null),
    /** For all of it together. */
    timeoutSeconds: z.int().min(1).max(86_400).default(600),
  })
  .superRefine(({ files, tests }, context) => {
    const names = new Set<string>();
    const all = new Map<string, TaskFile>(Object.entries(files));
    for (const [index, test] of tests.entries()) {
      const refuse = (path: readonly string[], message: string): void =>
        context.addIssue({ code: 'custom', path: ['tests', index, ...path], message });
      if (names.has(test.name)) refuse(['name'], 'is the name of another test');
      names.add(test.name);
      for (const [field, message] of runnerProblems(test)) refuse([field], message);
      for (const [path, file] of Object.entries(test.files)) {
        if (!sameFile(all.get(path) ?? file, file)) refuse(['files', path], 'is another file in another test');
        all.set(path, file);
      }
    }
    for (const path of clashes([...all.keys()]))
      context.addIssue({ code: 'custom', path: ['files', path], message: 'is a file, and a directory of another one' });
  });
export type TaskVerification = z.output<typeof taskVerification>;

/** What does not go together in a test. */
function runnerProblems({ command, runner, suite, tests, rewardFiles, prints, apart }: z.output<typeof taskTest>) {
  const problems: (readonly [string, string])[] = [];
  if (apart === true && runner !== 'node:test') problems.push(['apart', apartProblem(runner)]);
  if (prints !== undefined && (runner !== undefined || rewardFiles.length > 0))
    problems.push(['prints', 'has no place beside a runner or reward files']);
  if (isSuite(runner)) {
    if (suite === undefined) problems.push(['suite', `names the files that ${runner} runs`]);
    if (command !== undefined)
      problems.push(['command', `has no place beside the runner ${runner}, which runs \`suite\``]);
    if (rewardFiles.length > 0) problems.push(['rewardFiles', `have no place beside the runner ${runner}`]);
    return problems;
  }
  if (command === undefined) problems.push(['command', 'is missing']);
  if (suite !== undefined) problems.push(['suite', `is for the runners ${SUITE_RUNNERS.join(', ')}`]);
  if (runner === undefined && tests !== undefined) problems.push(['tests', 'needs a `runner`, which counts them']);
  if (runner === 'tap' && rewardFiles.length > 0)
    problems.push(['rewardFiles', 'have no place beside TAP, which is the output']);
  if (runner === 'junit' && rewardFiles.length === 0) problems.push(['rewardFiles', 'name the JUnit report']);
  return problems;
}

const apartProblem = (runner: string | undefined): string =>
  runner === 'jest' || runner === 'go test'
    ? `is for the runner node:test: with ${runner} the program is in the process of the tests, and can forge the counts`
    : 'is for the runner node:test';

/** What the suite of a test names, and no file of the tests is or is below. A runner of Node.js or Go takes no directory. */
export function missingInSuite(
  { runner, suite = [] }: Pick<TaskVerification['tests'][number], 'runner' | 'suite'>,
  files: TaskFiles,
): readonly string[] {
  const isDirectory = (path: string): boolean => Object.keys(files).some((file) => file.startsWith(`${path}/`));
  const takesDirectories = runner === 'unittest' || runner === 'pytest';
  return suite.filter((path) => !Object.hasOwn(files, path) && !(takesDirectories && isDirectory(path)));
}

/** Files of suites that the task does not bring. A definition that was kept before there was this rule is judged all the same. */
export const suiteProblems = (verification: TaskVerification) =>
  verification.tests.flatMap((test, index) => {
    const files = { ...verification.files, ...test.files };
    const missing = new Set(missingInSuite(test, files));
    return (test.suite ?? []).flatMap((path, at) =>
      missing.has(path)
        ? [
            {
              path: ['verification', 'tests', index, 'suite', at],
              message: `names ${JSON.stringify(path)}, which is no file of verification.files or of the test`,
            },
          ]
        : [],
    );
  });

/**
 * Reward files where a program that a test tries could put another file of the tests in their place. Beyond `/tmp` a directory may be the
 * agent's.
 */
export const rewardFileProblems = ({
  environment: { workdir, mounts },
  verification,
}: {
  readonly environment: Pick<EnvironmentSpec, 'workdir' | 'mounts'>;
  readonly verification: TaskVerification;
}): readonly { readonly path: readonly (string | number)[]; readonly message: string }[] => {
  const shared = [
    { place: workdir, what: 'the workspace' },
    ...mounts.filter(({ readOnly }) => !readOnly).map(({ target }) => ({ place: target, what: 'a writable mount' })),
  ];
  return verification.tests.flatMap(({ rewardFiles }, index) =>
    rewardFiles.flatMap((file, at) => {
      const within = shared.find(({ place }) => isWithin(file, place));
      if (within === undefined && file.startsWith('/tmp/')) return [];
      const where = within === undefined ? 'is not below /tmp' : `is in ${within.what} ${within.place}`;
      const message = `${where}, where programs of the agent may write: name a file below /tmp, such as ${OUTSIDE}`;
      return [{ path: ['verification', 'tests', index, 'rewardFiles', at], message }];
    }),
  );
};

const sameFile = (a: TaskFile, b: TaskFile): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Every file of the tests, by its path below `/tmp/tests`. */
export const testFilesOf = ({ files, tests }: TaskVerification): TaskFiles =>
  Object.assign({}, files, ...tests.map((test) => test.files));
