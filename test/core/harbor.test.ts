import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Allowance } from '../../src/core/allowance.js';
import { HoldfastError } from '../../src/core/errors.js';
import { readDockerfile } from '../../src/core/harbor-dockerfile.js';
import { exportHarbor } from '../../src/core/harbor-export.js';
import { importHarbor } from '../../src/core/harbor-import.js';
import { toHarbor, toHere } from '../../src/core/harbor-places.js';
import type { JsonObject } from '../../src/core/json.js';
import { resolveTask } from '../../src/core/resolve-task.js';
import { fileOf } from '../../src/core/task-file.js';

/** Directories of Harbor as values; on disk: test/cli/harbor.test.ts. */

const FILES = {
  'instruction.md': 'Write {{this}} down.\n',
  'environment/Dockerfile':
    'FROM python:3.13-slim\n# a comment\nWORKDIR /app\nCOPY data/ notes.txt ./in/\nENV A=1 B="two words"\nCMD ["bash"]\n',
  'environment/data/a.csv': 'x\n',
  'environment/notes.txt': 'hello\n',
  'tests/test.sh': '#!/bin/bash\npython3 /tests/test_out.py && echo 1 > /logs/verifier/reward.txt\n',
  'tests/test_out.py': 'open("/app/tests/x")\n',
  'solution/solve.sh': '#!/bin/sh\ncp /solution/out.txt out.txt\n',
  'solution/out.txt': 'this\n',
};
const CONFIG: JsonObject = {
  version: '1.0',
  metadata: { author_name: 'Ann', difficulty: 'hard', category: 'Data Science', tags: ['csv'] },
  verifier: { timeout_sec: 90.5 },
  agent: { timeout_sec: 300 },
  environment: { build_timeout_sec: 600, cpus: 2, memory: '2G', allow_internet: false },
};
const read = (
  config: JsonObject = CONFIG,
  files: Readonly<Record<string, string>> = FILES,
  image: string | null = null,
) =>
  importHarbor(
    {
      name: 'My Task',
      config,
      files: new Map(
        Object.entries(files).map(([path, text]) => [path, fileOf(Buffer.from(text), path.endsWith('.sh'))]),
      ),
    },
    image,
  );
const why = (...args: Parameters<typeof read>): string => {
  try {
    read(...args);
  } catch (error) {
    if (error instanceof HoldfastError) return `${error.code}: ${error.message}`;
  }
  return 'none';
};

it('says what a directory says', () => {
  const { task, notes } = read();
  expect(task).toMatchObject({
    ...{ name: 'my-task', version: '1.0.0', instruction: 'Write \\{{this}} down.\n', category: 'data-science' },
    ...{ difficulty: 'hard', tags: ['csv'], timeoutSeconds: 300 },
    environment: {
      image: 'python:3.13-slim',
      ...{ workdir: '/app', env: { A: '1', B: 'two words' }, limits: { cpuCores: 2, memoryMb: 2048 } },
      security: { networkMode: 'none' },
    },
    initialFiles: { 'in/a.csv': { text: 'x\n' }, 'in/notes.txt': { text: 'hello\n' } },
    verification: {
      timeoutSeconds: 91,
      tests: [
        {
          name: 'test.sh',
          command: ['sh', '-c', expect.stringContaining('exec bash /tmp/tests/test.sh')],
          rewardFiles: ['/tmp/logs/verifier/reward.json', '/tmp/logs/verifier/reward.txt'],
        },
      ],
      files: {
        'test.sh': {
          text: '#!/bin/bash\npython3 /tmp/tests/test_out.py && echo 1 > /tmp/logs/verifier/reward.txt\n',
          mode: '755',
        },
        'test_out.py': { text: 'open("/app/tests/x")\n' },
      },
    },
    solution: {
      script: 'sh .solution/solve.sh',
      files: { '.solution/solve.sh': { text: '#!/bin/sh\ncp /app/.solution/out.txt out.txt\n' } },
    },
  });
  expect(notes).toEqual([
    'task.toml metadata.author_name: without effect; kept in metadata.harbor',
    'task.toml environment.build_timeout_sec: without effect; kept in metadata.harbor',
    'environment/Dockerfile, line 6: CMD: without effect',
    'tests/test.sh: /tests, /logs and /solution became places that containers can write to',
    'solution/solve.sh: /tests, /logs and /solution became places that containers can write to',
  ]);
});

it('goes back to where it came from', () => {
  const { task } = read();
  const { config, files } = exportHarbor(resolveTask(task, { parameters: {}, seed: 0 }, new Allowance()), task);
  expect(config).toMatchObject({ version: '1.0', metadata: CONFIG['metadata'] as object, agent: { timeout_sec: 300 } });
  for (const path of [
    'instruction.md',
    'tests/test.sh',
    'tests/test_out.py',
    'solution/solve.sh',
    'solution/out.txt',
  ] as const)
    expect(files.get(path)?.content.toString(), path).toBe(FILES[path]);
  expect(files.get('tests/test.sh')?.executable).toBe(true);
  expect(files.get('environment/files/in/a.csv')?.content.toString()).toBe('x\n');
  const again = importHarbor(
    {
      name: 'my-task',
      config,
      files: new Map([...files].map(([path, { content, executable }]) => [path, fileOf(content, executable)])),
    },
    null,
  ).task;
  const { metadata: _before, ...said } = task;
  const { metadata: _after, category: _category, ...saidAgain } = again;
  expect(said).toMatchObject(saidAgain);
});

it('says what it leaves out, and what comes from the host', () => {
  const config = {
    ...CONFIG,
    environment: { env: { KEY: '\u0024{KEY}', A: '2' }, gpus: 1 },
    verifier: { env: { MODE: 'x' }, user: 'root' },
    artifacts: ['/x'],
  };
  const { task, notes } = read(config, { ...FILES, 'notes.md': 'x' });
  expect(task.environment.env).toEqual({ A: '2', B: 'two words' });
  expect(task.verification.tests[0]?.command.slice(0, 2)).toEqual(['env', 'MODE=x']);
  expect(notes).toEqual(
    expect.arrayContaining([
      'task.toml environment.gpus: without effect; kept in metadata.harbor',
      'task.toml verifier.user: without effect; kept in metadata.harbor',
      'task.toml artifacts: without effect; kept in metadata.harbor',
      'task.toml environment.env.KEY: comes from the host; left out',
      'task.toml environment.network_mode: not there, which is an open network in Harbor; closed here',
      'notes.md: left out',
    ]),
  );
  expect(read({ ...CONFIG, environment: { network_mode: 'public' } }).task.environment.security.networkMode).toBe(
    'open',
  );
  const listed = read({ ...CONFIG, environment: { network_mode: 'allowlist', allowed_hosts: ['a.example'] } });
  expect(listed.task.environment.security).toMatchObject({ networkMode: 'none', allowedEgress: ['a.example'] });
});

it.each<[string, Partial<typeof FILES> & Record<string, string>, JsonObject]>([
  ['line 2: RUN pip install x', { 'environment/Dockerfile': 'FROM a\nRUN pip install x\n' }, {}],
  ['line 1: FROM a:$V', { 'environment/Dockerfile': 'FROM a:$V\n' }, {}],
  ['line 2: FROM b', { 'environment/Dockerfile': 'FROM a AS x\nFROM b\n' }, {}],
  ['line 2: COPY --from=x /a /b', { 'environment/Dockerfile': 'FROM a\nCOPY --from=x /a /b\n' }, {}],
  ['line 2: COPY ../secret /work/', { 'environment/Dockerfile': 'FROM a\nCOPY ../secret /work/\n' }, {}],
  ['line 2: ENV A=$B', { 'environment/Dockerfile': 'FROM a\nENV A=$B\n' }, {}],
  [
    'outside of the workspace /app',
    { 'environment/Dockerfile': 'FROM a\nWORKDIR /app\nCOPY notes.txt /etc/notes\n' },
    {},
  ],
  ['has no FROM', { 'environment/Dockerfile': 'WORKDIR /app\n' }, {}],
  ['docker-compose.yaml starts several containers', { 'environment/docker-compose.yaml': '' }, {}],
  ['several steps', {}, { steps: [{ name: 'one' }] }],
  ['task.toml /agent/timeout_sec', {}, { agent: { timeout_sec: -1 } }],
  ['task.toml /environment/network_mode', {}, { environment: { network_mode: 'some' } }],
  ['metadata.holdfast is nothing that an export wrote', {}, { metadata: { holdfast: '{}' } }],
  ['There is no tests/test.sh', { 'tests/test.sh': '' }, {}],
])('refuses what it cannot convert: %s', (said, files, config) => {
  const all = { ...FILES, ...files };
  const given =
    files['tests/test.sh'] === ''
      ? Object.fromEntries(Object.entries(all).filter(([path]) => path !== 'tests/test.sh'))
      : all;
  expect(why({ ...CONFIG, ...config }, given)).toMatch(/^task_inconvertible: /);
  expect(why({ ...CONFIG, ...config }, given)).toContain(said);
});

it('takes an image in place of what would be built', () => {
  const files = { ...FILES, 'environment/Dockerfile': 'FROM a\nWORKDIR /app\nRUN pip install x\nCOPY notes.txt .\n' };
  const { task } = read(CONFIG, files, 'mine:1');
  expect(task).toMatchObject({ environment: { image: 'mine:1', workdir: '/app' }, initialFiles: {} });
  expect(read({ ...CONFIG, environment: { docker_image: 'theirs:2' } }, files).task.environment.image).toBe('theirs:2');
});

it('reads Dockerfiles as they are written', () => {
  const text =
    'from a:1 as base\nworkdir /x\nWorkDir y\ncopy a.txt \\\n  # not the end\n  b/ "c"/\nCOPY --chown=1:1 a.txt z.txt\nCOPY . .\nENV K the rest of it\n';
  const { image, workdir, env, copies, unsupported } = readDockerfile(text, ['a.txt', 'b/c.txt']);
  expect({ image, workdir, env }).toEqual({ image: 'a:1', workdir: '/x/y', env: { K: 'the rest of it' } });
  expect(unsupported).toEqual(['line 4: COPY a.txt b/ "c"/']);
  expect(copies.map(({ from, to }) => `${from} ${to}`)).toEqual([
    'a.txt /x/y/z.txt',
    'a.txt /x/y/a.txt',
    'b/c.txt /x/y/b/c.txt',
  ]);
});

it('finds the places of Harbor, and goes back', () => {
  expect(toHere('cd /tests; cat "/logs/verifier/x" ./tests /app/tests $D/tests /tests-2 /testsx', '/w')).toBe(
    'cd /tmp/tests; cat "/tmp/logs/verifier/x" ./tests /app/tests $D/tests /tests-2 /testsx',
  );
  const pieces = fc.constantFrom('/tests', '/logs', '/solution', '/', ' ', 'x', '.', '-', '\n', '"');
  fc.assert(
    fc.property(
      fc.array(pieces, { maxLength: 10 }).map((parts) => parts.join('')),
      (text) => {
        expect(toHarbor(toHere(text, '/w'), '/w')).toBe(text);
      },
    ),
    { numRuns: 1000 },
  );
});
