import { RECORDS_DIR } from '../containers/environment-spec.js';
import { isObject, type JsonObject, sameJson } from '../json.js';
import type { ResolvedTask } from '../tasks/resolve-task.js';
import { shellWord } from '../tasks/solution-commands.js';
import { DIFFICULTIES, type TaskDefinition } from '../tasks/task-definition.js';
import { bytesOf, type TaskFile, type TaskFiles } from '../tasks/task-file.js';
import { TESTS_DIR, TRY_PATH, testFilesOf } from '../tasks/task-verification.js';
import { harborConfig, slugOf, tagsIn } from './harbor-config.js';
import { keptText } from './harbor-kept.js';
import { placesIn, solutionPrefix, toHarbor } from './harbor-places.js';

/** A directory of Harbor, to be written. */
export interface ExportedTask {
  /** Of `task.toml`. */
  readonly config: JsonObject;
  readonly files: ReadonlyMap<string, { readonly content: Buffer; readonly executable: boolean }>;
  /** What Harbor does not know, or knows in another way. */
  readonly notes: readonly string[];
}

/** `definition`: that of the task, which says what was random and is fixed now. */
export function exportHarbor(task: ResolvedTask, definition: TaskDefinition): ExportedTask {
  const imported = importedConfig(task);
  const files = new Map<string, TaskFile>();
  const put = (directory: string, more: TaskFiles): void => {
    for (const [path, file] of Object.entries(more)) files.set(`${directory}/${path}`, file);
  };
  put('environment/files', task.initialFiles);
  files.set('environment/Dockerfile', text(dockerfileOf(task)));
  if (imported === null) {
    files.set('instruction.md', text(task.instruction));
    put('tests/files', testFilesOf(task.verification));
    files.set('tests/test.sh', text(testScript(task), true));
    if (task.solution !== null) {
      put('solution/files', task.solution.files);
      if (task.solution.script !== null) files.set('solution/script.sh', text(task.solution.script));
      files.set('solution/solve.sh', text(solutionScript(task), true));
    }
  } else {
    const { workdir } = task.environment;
    const places = placesIn(task.metadata, workdir);
    const prefix = solutionPrefix(places, workdir);
    const back = (file: TaskFile): TaskFile => ('text' in file ? { ...file, text: toHarbor(file.text, places) } : file);
    files.set('instruction.md', back(text(task.instruction)));
    const own = Object.entries(task.solution?.files ?? {});
    for (const [path, file] of Object.entries(testFilesOf(task.verification))) files.set(`tests/${path}`, back(file));
    for (const [path, file] of own)
      files.set(path.startsWith(prefix) ? `solution/${path.slice(prefix.length)}` : path, back(file));
  }
  return {
    config: configOf(task, imported),
    files: new Map(
      [...files].map(([path, file]) => [path, { content: bytesOf(file), executable: /[1357]/.test(file.mode) }]),
    ),
    notes: notesOn(task, definition, imported !== null),
  };
}

const text = (content: string, executable = false): TaskFile => ({ text: content, mode: executable ? '755' : '644' });

/** That of the directory which a task was imported from, and still has the form of. */
function importedConfig({ metadata, verification }: ResolvedTask): JsonObject | null {
  const { harbor } = metadata;
  const [test, ...others] = verification.tests;
  const itsOwn = test?.name === 'test.sh' && others.length === 0 && Object.hasOwn(verification.files, 'test.sh');
  return isObject(harbor) && itsOwn ? harbor : null;
}

function configOf(task: ResolvedTask, imported: JsonObject | null): JsonObject {
  const { limits, security, env } = task.environment;
  const part = (key: string): JsonObject => (isObject(imported?.[key]) ? imported[key] : {});
  const allowed = security.networkMode === 'none' ? security.allowedEgress : [];
  const mode = security.networkMode === 'open' ? 'public' : allowed.length > 0 ? 'allowlist' : 'no-network';
  const given = part('environment');
  const before = isObject(given['env']) ? given['env'] : {};
  // One form of a size, and of what may be reached.
  const {
    memory: _memory,
    allow_internet: _internet,
    network_mode: _mode,
    allowed_hosts: _hosts,
    ...environment
  } = given;
  return {
    ...(imported === null ? { schema_version: '1.1' } : imported),
    ...(imported === null ? { task: { name: `holdfast/${task.name}`, version: task.version } } : {}),
    metadata: {
      ...part('metadata'),
      ...labelsOf(task, imported),
      ...(imported === null ? { holdfast: keptText(task) } : {}),
    },
    verifier: { ...part('verifier'), ...secondsOf(part('verifier'), task.verification.timeoutSeconds) },
    agent: { ...part('agent'), ...secondsOf(part('agent'), task.timeoutSeconds) },
    environment: {
      ...environment,
      ...('docker_image' in environment ? { docker_image: task.environment.image } : {}),
      ...(limits.cpuCores === null ? {} : { cpus: Math.ceil(limits.cpuCores) }),
      ...(limits.memoryMb === null ? {} : { memory_mb: limits.memoryMb }),
      ...(limits.diskGb === null ? {} : { storage_mb: limits.diskGb * 1024 }),
      network_mode: mode,
      ...(mode === 'allowlist' ? { allowed_hosts: [...allowed] } : {}),
      env: { ...before, ...backed(env, task) },
    },
  };
}

const backed = (env: Readonly<Record<string, string>>, { metadata, environment }: ResolvedTask): JsonObject => {
  const places = placesIn(metadata, environment.workdir);
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, toHarbor(value, places)]));
};

/** What was imported stays as it was written, where it still says the same. */
function labelsOf({ difficulty, category, tags }: ResolvedTask, imported: JsonObject | null): JsonObject {
  const before = harborConfig.safeParse(imported ?? {}).data ?? {};
  const { metadata } = before;
  const isOwn = DIFFICULTIES.some((one) => one === metadata?.difficulty);
  const sameTags = metadata?.tags !== undefined && sameJson([...tagsIn(before)], [...tags]);
  return {
    difficulty:
      metadata?.difficulty !== undefined && !isOwn && difficulty === 'medium' ? metadata.difficulty : difficulty,
    category: metadata?.category !== undefined && slugOf(metadata.category) === category ? metadata.category : category,
    tags: sameTags ? [...(metadata?.tags ?? [])] : [...tags],
  };
}

const secondsOf = ({ timeout_sec: before }: JsonObject, seconds: number): JsonObject => ({
  timeout_sec: typeof before === 'number' && Math.ceil(before) === seconds ? before : seconds,
});

const quoted = (word: string): string => (/^[\w./:=@%+-]+$/.test(word) ? word : shellWord(word));
const line = (argv: readonly string[]): string => argv.map(quoted).join(' ');

function dockerfileOf({ environment: { image, workdir }, initialFiles }: ResolvedTask): string {
  const copy = Object.keys(initialFiles).length === 0 ? [] : [`COPY files/ ${workdir}/`];
  return [`FROM ${image}`, `WORKDIR ${workdir}`, ...copy, ''].join('\n');
}

type Test = ResolvedTask['verification']['tests'][number];

/** In whole numbers, so that a shell can add them. */
const MILLION = 1_000_000;

/** Without a runner of ours: the runner of the language itself. */
function plainCommand({ command, runner, suite = [] }: Pick<Test, 'command' | 'runner' | 'suite'>): readonly string[] {
  const paths = suite.map((path) => `${TESTS_DIR}/${path}`);
  if (runner === 'unittest') return ['env', 'PYTHONPATH=.', 'python3', '-m', 'unittest', ...paths];
  if (runner === 'pytest') return ['env', 'PYTHONPATH=.', 'pytest', ...paths];
  if (runner === 'node:test') return ['node', '--test', ...paths];
  if (runner === 'jest') return ['jest', '--rootDir=/', ...paths];
  if (runner === 'go test') return ['sh', '-c', `cp -R ${TESTS_DIR}/. . && go test ./...`];
  return command ?? [];
}

function testScript({ verification: { tests }, environment: { workdir } }: ResolvedTask): string {
  const parts = tests.map(({ weight }) => Math.max(1, Math.round(weight * MILLION)));
  const all = parts.reduce((sum, one) => sum + one, 0);
  return [
    '#!/bin/sh',
    '# Runs each test, and writes how much of their weight passed.',
    `mkdir -p /logs/verifier ${TESTS_DIR} && cp -R /tests/files/. ${TESTS_DIR}/`,
    '# Tests execute programs by it as another user where Holdfast judges. Here they are the same user.',
    `[ -x ${TRY_PATH} ] || { mkdir -p ${RECORDS_DIR} && printf '#!/bin/sh\\nexec "$@"\\n' >${TRY_PATH} && chmod 755 ${TRY_PATH}; }`,
    `cd ${quoted(workdir)} || exit 1`,
    'passed=0',
    'check() {',
    '  name=$1 weight=$2 seconds=$3',
    '  shift 3',
    '  if timeout "$seconds" "$@"; then passed=$((passed + weight)) && echo "passed  $name"; else echo "failed  $name"; fi',
    '}',
    ...tests.map(
      ({ name, timeoutSeconds, ...test }, index) =>
        `check ${line([name, String(parts[index]), String(timeoutSeconds), ...plainCommand(test)])}`,
    ),
    `printf '%d.%06d\\n' $((passed / ${all})) $((passed % ${all} * ${MILLION} / ${all})) >/logs/verifier/reward.txt`,
    '',
  ].join('\n');
}

const solutionScript = ({ solution, environment: { workdir } }: ResolvedTask): string =>
  [
    '#!/bin/sh',
    `cd ${quoted(workdir)} || exit 1`,
    ...(Object.keys(solution?.files ?? {}).length > 0 ? ['cp -R /solution/files/. .'] : []),
    ...(solution?.script == null ? [] : ['sh /solution/script.sh']),
    '',
  ].join('\n');

function notesOn(task: ResolvedTask, definition: TaskDefinition, imported: boolean): readonly string[] {
  const { environment, verification, antiHardcoding, canaries } = task;
  const { canaries: _names, randomizedInputs } = definition.antiHardcoding;
  const drawn = [...Object.keys(definition.parameters), ...Object.keys(randomizedInputs), ...Object.keys(canaries)];
  const without: readonly [string, boolean][] = [
    ['createdAt', task.createdAt !== null],
    ['maxTurns', true],
    ['estimatedSteps', task.estimatedSteps !== null],
    ['expectedOutputs', task.expectedOutputs !== null],
    ['rewardWeights', task.rewardWeights !== null],
    ['scaffold', task.scaffold !== null],
    ['process', task.process !== undefined],
    ['verification.compile', verification.compile !== null],
    ['verification.lint', verification.lint !== null],
    ['antiHardcoding.scanForExpectedOutputs', antiHardcoding.scanForExpectedOutputs && task.expectedOutputs !== null],
    ['environment.command', environment.command !== null],
    ['environment.mounts', environment.mounts.length > 0],
    ['environment.labels', Object.keys(environment.labels).length > 0],
    ['environment.user and environment.security', true],
    ['environment.limits.maxProcesses', environment.limits.maxProcesses !== null],
    ['environment.limits.networkMbps', environment.limits.networkMbps !== null],
    ...verification.tests.map((test): [string, boolean] => [
      `verification.tests ${test.name}: rewardFiles`,
      test.rewardFiles.length > 0 && !imported,
    ]),
    ...verification.tests.map((test): [string, boolean] => [
      `verification.tests ${test.name}: runner`,
      test.runner !== undefined,
    ]),
  ];
  const cores = environment.limits.cpuCores;
  const all = { ...task.initialFiles, ...testFilesOf(verification), ...task.solution?.files };
  const odd = Object.entries(all).filter(([, { mode }]) => !/^0?(644|755)$/.test(mode));
  return [
    ...(drawn.length > 0 ? [`${drawn.join(', ')}: fixed, by the seed ${task.seed}; Harbor has no templates`] : []),
    ...(cores !== null && !Number.isInteger(cores)
      ? [`environment.limits.cpuCores: ${Math.ceil(cores)} in Harbor`]
      : []),
    ...odd.map(([path, { mode }]) => `${path}: the mode ${mode} becomes ${/[1357]/.test(mode) ? '755' : '644'}`),
    ...without.flatMap(([field, there]) =>
      there ? [`${field}: without effect in Harbor${imported ? '' : '; kept in metadata.holdfast'}`] : [],
    ),
  ];
}
