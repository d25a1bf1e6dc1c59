import { expect, it } from 'vitest';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import { keptDefinition, parseTask, taskHashOf } from '../../../src/core/tasks/task-definition.js';
import { bytesOf, fileOf } from '../../../src/core/tasks/task-file.js';
import { aTask } from './a-task.js';

const problemsOf = (value: unknown): readonly string[] => {
  try {
    parseTask(value);
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'task_invalid')
      return error.fields.map(({ pointer, detail }) => `${pointer}: ${detail}`);
    throw error;
  }
  return [];
};
const tests = (test: object, more: object = {}) => ({
  verification: { tests: [{ name: 'one', command: 'true', ...test }], ...more },
});

it('has a value for everything that is left out', () => {
  const { environment, ...task } = parseTask(aTask());
  expect(environment.security.networkMode).toBe('none');
  expect(task).toEqual({
    ...{ name: 'add', version: '1.0.0', createdAt: null, instruction: 'Write add.py.', category: 'algorithms' },
    ...{ difficulty: 'easy', initialFiles: {}, expectedOutputs: null, timeoutSeconds: 1800, maxTurns: 50, tags: [] },
    verification: {
      files: {},
      tests: [
        {
          name: 'adds',
          command: ['sh', '-c', 'python3 /tmp/tests/add.py'],
          ...{ timeoutSeconds: 60, weight: 1, files: {}, rewardFiles: [] },
        },
      ],
      ...{ compile: null, lint: null, timeoutSeconds: 600 },
    },
    antiHardcoding: {
      hiddenTests: true,
      canaries: [],
      randomizedInputs: {},
      scanForExpectedOutputs: true,
      outputFiles: [],
    },
    ...{ estimatedSteps: null, parameters: {}, solution: null, rewardWeights: null, scaffold: null, metadata: {} },
  });
});

it('is read again as it is', () => {
  const task = parseTask(
    aTask({
      initialFiles: { 'a.py': 'x = {{n}}', 'b.bin': { base64: 'AAE=', mode: '755' } },
      parameters: { n: { type: 'integer', min: 1, max: 9, default: 4 } },
      solution: { script: 'true' },
    }),
  );
  expect(parseTask(JSON.parse(JSON.stringify(task)))).toEqual(task);
});

it.each<[string, object]>([
  ['/name', { name: 'Add It' }],
  ['/version', { version: '1' }],
  ['/createdAt', { createdAt: 'yesterday' }],
  ['/instruction', { instruction: '' }],
  ['/instruction', { instruction: 'a\0b' }],
  ['/category', { category: 'a/b' }],
  ['/difficulty', { difficulty: 'simple' }],
  ['/environment/image', { environment: {} }],
  ['/environment/user', { environment: { image: 'any', user: '0' } }],
  ['/environment/secrets', { environment: { image: 'any', secrets: ['KEY'] } }],
  ['/initialFiles/~1etc~1passwd', { initialFiles: { '/etc/passwd': '' } }],
  ['/initialFiles/..~1x', { initialFiles: { '../x': '' } }],
  ['/initialFiles/a~1..~1..~1x', { initialFiles: { 'a/../../x': '' } }],
  ['/initialFiles/a~1.~1x', { initialFiles: { 'a/./x': '' } }],
  ['/initialFiles/a~1~1x', { initialFiles: { 'a//x': '' } }],
  ['/initialFiles/a~1', { initialFiles: { 'a/': '' } }],
  ['/initialFiles/a\\x', { initialFiles: { 'a\\x': '' } }],
  ['/initialFiles/a\0x', { initialFiles: { 'a\0x': '' } }],
  ['/initialFiles/a\nx', { initialFiles: { 'a\nx': '' } }],
  ['/initialFiles/', { initialFiles: { '': '' } }],
  ['/initialFiles/a', { initialFiles: { a: '', 'a/b': '' } }],
  ['/initialFiles/{{n}}', { initialFiles: { '{{n}}': '' } }],
  ['/initialFiles/a/mode', { initialFiles: { a: { text: '', mode: '999' } } }],
  ['/initialFiles/a/mode', { initialFiles: { a: { text: '', mode: 755 } } }],
  ['/initialFiles/a/base64', { initialFiles: { a: { base64: 'no base64' } } }],
  ['/verification/tests', { verification: { tests: [] } }],
  ['/verification/tests/0/command', tests({ command: [] })],
  ['/verification/tests/0/command', tests({ command: '' })],
  ['/verification/tests/0/weight', tests({ weight: 0 })],
  ['/verification/tests/0/timeoutSeconds', tests({ timeoutSeconds: 1.5 })],
  ['/verification/tests/0/rewardFiles/0', tests({ rewardFiles: ['reward.txt'] })],
  ['/verification/tests/0/rewardFiles/0', tests({ rewardFiles: ['/tmp/../etc/passwd'] })],
  ['/verification/tests/0/rewardFiles/1', tests({ rewardFiles: ['/tmp/a', '/work/reward.txt'] })],
  ['/verification/tests/0/files/..~1x', tests({ files: { '../x': '' } })],
  ['/verification/tests/0/files/a', tests({ files: { a: '1' } }, { files: { a: '2' } })],
  ['/verification/files/a', tests({ files: { 'a/b': '1' } }, { files: { a: '2' } })],
  ['/verification/tests/0/apart', tests({ apart: true })],
  ['/verification/compile', tests({}, { compile: 7 })],
  ['/expectedOutputs', { expectedOutputs: [] }],
  ['/timeoutSeconds', { timeoutSeconds: 0 }],
  ['/maxTurns', { maxTurns: 10_001 }],
  ['/tags/0', { tags: [''] }],
  ['/antiHardcoding/canaries/0', { antiHardcoding: { canaries: ['a b'] } }],
  ['/antiHardcoding/outputFiles/0', { antiHardcoding: { outputFiles: ['/x'] } }],
  [
    '/antiHardcoding/randomizedInputs/n/min',
    { antiHardcoding: { randomizedInputs: { n: { type: 'integer', min: 2, max: 1 } } } },
  ],
  ['/estimatedSteps/min', { estimatedSteps: { min: 3, max: 2 } }],
  ['/parameters/n/default', { parameters: { n: { type: 'integer', max: 3, default: 4 } } }],
  ['/parameters/n/default', { parameters: { n: { type: 'text', values: ['a'], default: 'b' } } }],
  ['/parameters/n/type', { parameters: { n: { type: 'date' } } }],
  ['/solution', { solution: {} }],
  ['/rewardWeights', { rewardWeights: { testPass: 0.5 } }],
  ['/scaffold', { scaffold: '' }],
  ['/metadata', { metadata: { long: 'x'.repeat(70_000) } }],
  ['/metadata', { metadata: { long: 'ä'.repeat(40_000) } }],
  [`/initialFiles/${'ä'.repeat(128)}`, { initialFiles: { ['ä'.repeat(128)]: '' } }],
  ['/environment/env/A', { environment: { image: 'any', env: { A: 'a\0b' } } }],
  ['/environment/labels/a', { environment: { image: 'any', labels: { a: '\0' } } }],
  ...['/bin', '/usr', '/usr/local', '/usr/lib/python3', '/etc', '/etc/python3.13', '/lib64'].map(
    (workdir): [string, object] => ['/environment/workdir', { environment: { image: 'any', workdir } }],
  ),
  [
    '/environment/mounts/0/target',
    { environment: { image: 'any', mounts: [{ source: '/srv/a', target: '/usr/local/bin', readOnly: false }] } },
  ],
  ['/instructions', { instructions: '' }],
])('names the field %s', (pointer, more) => {
  const wrong = { ...aTask(), ...more };
  const problems = problemsOf(wrong).map((problem) => problem.slice(0, problem.indexOf(': ')));
  expect(problems).toContain(pointer);
});

it('takes workspaces beside the programs of the image, and names as long as a file system has them', () => {
  for (const workdir of ['/usr/src/app', '/usr/local/app', '/etc/nginx', '/library', '/home/a', '/opt/bin'])
    expect(problemsOf(aTask({ environment: { image: 'any', workdir } }))).toEqual([]);
  expect(problemsOf(aTask({ initialFiles: { [`${'ä'.repeat(127)}x`]: '' } }))).toEqual([]);
});

it('says where a reward file may be', () => {
  const environment = {
    ...{ image: 'any', workdir: '/app' },
    mounts: [
      { source: '/srv/in', target: '/in' },
      { source: '/srv/out', target: '/out', readOnly: false },
    ],
  };
  const rewardFiles = ['/app/reward.txt', '/out/reward.json', '/in/reward.txt', '/apps/reward.txt'];
  expect(problemsOf(aTask({ environment, ...tests({ rewardFiles }) }))).toEqual([
    '/verification/tests/0/rewardFiles/0: is in the workspace /app, where programs of the agent may write: name a file below /tmp, such as /tmp/reward.txt',
    '/verification/tests/0/rewardFiles/1: is in a writable mount /out, where programs of the agent may write: name a file below /tmp, such as /tmp/reward.txt',
    ...[2, 3].map(
      (at) =>
        `/verification/tests/0/rewardFiles/${at}: is not below /tmp, where programs of the agent may write: name a file below /tmp, such as /tmp/reward.txt`,
    ),
  ]);
  // What was submitted to an earlier build goes on.
  expect(keptDefinition.safeParse(aTask({ environment, ...tests({ rewardFiles }) })).success).toBe(true);
});

it('names two tests of one name', () => {
  const one = { name: 'one', command: 'true' };
  expect(problemsOf(aTask({ verification: { tests: [one, one] } }))).toEqual([
    '/verification/tests/1/name: is the name of another test',
  ]);
});

it('knows every placeholder, and uses every name', () => {
  const n = { type: 'integer', min: 1, max: 2 } as const;
  expect(problemsOf(aTask({ instruction: 'Add {{n}} and {{ m }}.', parameters: { n, o: n } }))).toEqual([
    '/instruction: holds {{m}}, but the task declares n, o; write \\{{m}} where the text itself is meant',
    '/parameters/o: is used nowhere; write {{o}} where it belongs',
  ]);
  expect(problemsOf(aTask({ instruction: 'style={\\{{color}}} and {{}} and \u0024{{ a.b }}' }))).toEqual([]);
  const antiHardcoding = { canaries: ['n'], randomizedInputs: { n } };
  expect(problemsOf(aTask({ instruction: 'Add.', initialFiles: { a: '{{n}}' }, antiHardcoding }))).toEqual([
    '/antiHardcoding/canaries/0: "n" is the name of something else, too',
  ]);
  expect(problemsOf(aTask({ instruction: '{{key}}', antiHardcoding: { canaries: ['key'] } }))).toEqual([
    '/instruction: tells the agent the canary {{key}}',
  ]);
});

it('shows no test over a file of the agent', () => {
  const shown = {
    antiHardcoding: { hiddenTests: false },
    verification: { files: { a: '1' }, tests: [{ name: 'one', command: 'true' }] },
  };
  expect(problemsOf(aTask({ ...shown, initialFiles: { 'tests/a': '2' } }))).toHaveLength(1);
  expect(problemsOf(aTask({ ...shown, initialFiles: { tests: '2' } }))).toHaveLength(1);
  expect(problemsOf(aTask({ ...shown, initialFiles: { 'tests/b': '2' } }))).toEqual([]);
});

it('has a hash of what it asks', () => {
  const hash = (more: object) => taskHashOf(parseTask({ ...aTask(), ...more }));
  expect(hash({ createdAt: '2026-01-31T09:30:00Z' })).toBe(hash({}));
  expect(hash({ maxTurns: 50 })).toBe(hash({}));
  expect(hash({ maxTurns: 51 })).not.toBe(hash({}));
});

it('keeps every file, byte for byte', () => {
  for (const content of [Buffer.from('text ü\n'), Buffer.from([0, 255, 10]), Buffer.from('a\0b'), Buffer.alloc(0)])
    expect(bytesOf(fileOf(content))).toEqual(content);
});
