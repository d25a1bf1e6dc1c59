import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import { readDockerfile } from '../../../src/core/harbor/harbor-dockerfile.js';
import { exportHarbor } from '../../../src/core/harbor/harbor-export.js';
import { importHarbor } from '../../../src/core/harbor/harbor-import.js';
import { type Place, toHarbor, toHere, usualPlaces } from '../../../src/core/harbor/harbor-places.js';
import type { JsonObject } from '../../../src/core/json.js';
import { Allowance } from '../../../src/core/limits/allowance.js';
import { resolveTask } from '../../../src/core/tasks/resolve-task.js';
import { fileOf } from '../../../src/core/tasks/task-file.js';

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
    'environment/Dockerfile, line 6: CMD: without effect',
    'places: /tests is /tmp/tests, /logs is /tmp/logs, /solution is /app/.solution; in the instruction and the files of the task',
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
  expect(task.verification.tests[0]?.command?.slice(0, 2)).toEqual(['env', 'MODE=x']);
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
  ['has no FROM', { 'environment/Dockerfile': 'WORKDIR /app\n' }, {}],
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

const built = (dockerfile: string, more: Readonly<Record<string, string>> = {}, config: JsonObject = CONFIG) =>
  read(config, { ...FILES, ...more, 'environment/Dockerfile': dockerfile });

it.each([
  'FROM a\nRUN pip install x\n',
  'FROM a:$V\n',
  'FROM a AS x\nFROM b\n',
  'FROM a\nCOPY --from=x /a /b\n',
  'FROM a\nCOPY ../secret /work/\n',
  'FROM a\nENV A=$B\n',
])('has an engine build what it cannot convert: %j', (dockerfile) => {
  const { task, build } = built(dockerfile);
  expect(build?.image).toMatch(/^holdfast\/harbor:[0-9a-f]{32}$/);
  expect(task).toMatchObject({ environment: { image: build?.image }, initialFiles: {} });
  expect(build?.files.get('Dockerfile')?.content.toString().startsWith(`${dockerfile}USER 0\nRUN `)).toBe(true);
  expect(build?.files.get('notes.txt')?.content.toString()).toBe('hello\n');
});

it('names an image by all that it is built from', () => {
  const dockerfile = 'FROM a\nRUN x\nCOPY notes.txt .\n';
  const name = (text: string, more = {}): string => built(text, more).build?.image ?? '';
  expect(name(dockerfile)).toBe(name(dockerfile));
  const others = [name(`${dockerfile}RUN y\n`), name(dockerfile, { 'environment/notes.txt': 'other\n' })];
  expect(new Set([name(dockerfile), ...others]).size).toBe(3);
});

it('moves what a built image has outside of the workspace below it, and leaves links', () => {
  const dockerfile =
    'FROM a\nRUN x\nRUN mkdir -p /data/in /etc/app\nWORKDIR /app\nCOPY notes.txt /etc/hosts.allow\nENV TEST_DIR=/tests\n';
  const { task, build } = built(dockerfile, { 'instruction.md': 'Write /out/report.json and /tmp/x; read /app/y.' });
  const text = build?.files.get('Dockerfile')?.content.toString() ?? '';
  const [fit = ''] = text.split('\n').slice(-3);
  expect(JSON.parse(fit.slice('RUN '.length)).slice(3)).toEqual([
    ...['fit', '/app', '1000:1000', '/etc/hosts.allow', '/data', '/etc/app', '/out', '/tmp'],
  ]);
  expect(task.instruction).toBe('Write /out/report.json and /app/.root/tmp/x; read /app/y.');
  // What the image says itself is not said again, unless it is another path here.
  expect(task.environment.env).toEqual({ TEST_DIR: '/tmp/tests' });
});

it('keeps the files that a Dockerfile copies where an image is named, and maps the paths outside of the workspace', () => {
  const dockerfile = [
    'FROM a',
    'WORKDIR /app',
    'RUN pip install x',
    'RUN mkdir -p /data/out logs',
    'COPY --chmod=755 notes.txt .',
    'COPY ["data/a.csv", "/data/in.csv"]',
    'COPY data/*.csv /etc/app.d/',
    'ENV TEST_DIR=/tests DATA=/data',
    'ENV PATH=$PATH:/x',
    '',
  ].join('\n');
  const files = {
    ...FILES,
    'environment/Dockerfile': dockerfile,
    'environment/notes.txt': 'see /data/in.csv and /database\n',
    'instruction.md': 'Read /data/in.csv, write /tmp/sum.txt and /output/report.json; GET /api/users is up.',
    'tests/test_out.py': 'open("/tmp/sum.txt"); open("/output/report.json"); get("/api/users")\n',
  };
  const { task, notes, build } = read(CONFIG, files, 'mine:1');
  expect(build).toBeNull();
  expect(task.environment).toMatchObject({ image: 'mine:1', workdir: '/app' });
  expect(task.environment.env).toEqual({ TEST_DIR: '/tmp/tests', DATA: '/app/.root/data' });
  expect(task.initialFiles).toEqual({
    'notes.txt': { text: 'see /app/.root/data/in.csv and /database\n', mode: '755' },
    '.root/data/in.csv': { text: 'x\n', mode: '644' },
    '.root/etc/app.d/a.csv': { text: 'x\n', mode: '644' },
    '.root/data/out/.keep': { text: '', mode: '644' },
    'logs/.keep': { text: '', mode: '644' },
    '.root/tmp/.keep': { text: '', mode: '644' },
    '.root/output/.keep': { text: '', mode: '644' },
  });
  expect(task.instruction).toBe(
    'Read /app/.root/data/in.csv, write /app/.root/tmp/sum.txt and /app/.root/output/report.json; GET /api/users is up.',
  );
  expect(task.verification.files['test_out.py']).toMatchObject({
    text: 'open("/app/.root/tmp/sum.txt"); open("/app/.root/output/report.json"); get("/api/users")\n',
  });
  expect(notes).toEqual(
    expect.arrayContaining([
      'environment/Dockerfile, line 3: RUN pip install x: not done; the image has to have what it makes',
      'environment/Dockerfile, line 9: ENV PATH=$PATH:/x: not done; the image has to have what it makes',
    ]),
  );
  const { config, files: back } = exportHarbor(resolveTask(task, { parameters: {}, seed: 0 }, new Allowance()), task);
  expect(back.get('tests/test_out.py')?.content.toString()).toBe(files['tests/test_out.py']);
  expect(back.get('instruction.md')?.content.toString()).toBe(files['instruction.md']);
  expect(config).toMatchObject({ environment: { env: { TEST_DIR: '/tests', DATA: '/data' } } });
});

it('says of a copied file that has no place that it is left out', () => {
  const files = { ...FILES, 'environment/Dockerfile': 'FROM a\nCOPY notes.txt /proc/notes\n' };
  const { task, notes } = read(CONFIG, files, 'mine:1');
  expect(task.initialFiles).toEqual({});
  expect(notes).toContain('environment/Dockerfile, line 2: notes.txt cannot be at /proc/notes; left out');
});

it.each([
  ['/tmp', 'cd /work; ls /work/in'],
  ['/tmp/job', 'cd /work/.root/tmp; ls /work/.root/tmp/in'],
  ['/', 'cd /work/.root/tmp; ls /work/.root/tmp/in'],
  ['/root', 'cd /root/.root/tmp; ls /root/.root/tmp/in'],
  ['/solution', 'cd /solution/.root/tmp; ls /solution/.root/tmp/in'],
])('imports a task that works in %s', (workdir, instruction) => {
  const files = {
    ...FILES,
    'environment/Dockerfile': `FROM a\nWORKDIR ${workdir}\nCOPY notes.txt .\n`,
    'instruction.md': 'cd /tmp; ls /tmp/in',
  };
  for (const image of ['mine:1', null]) {
    const { task } = read(CONFIG, files, image);
    expect(task.instruction).toBe(instruction);
    const at = workdir === '/' ? undefined : 'notes.txt';
    if (at !== undefined) expect(task.initialFiles).toHaveProperty([at]);
    expect(Object.keys(task.solution?.files ?? {})).toContain(
      workdir === '/solution' ? 'solve.sh' : '.solution/solve.sh',
    );
  }
  const begun = built(`FROM a\nRUN x\nWORKDIR ${workdir}\n`).build?.files.get('Dockerfile')?.content.toString() ?? '';
  const begin = workdir.startsWith('/tmp') ? `"copy","${workdir}","/work"]` : null;
  expect(begun.includes('"copy"')).toBe(begin !== null);
  expect(begun).toContain(begin ?? '"fit"');
});

it('keeps what a task has below /solution and /logs itself apart from the places of Harbor', () => {
  const { task } = read(CONFIG, {
    ...FILES,
    'environment/Dockerfile': 'FROM a\nWORKDIR /app\nRUN mkdir -p /solution /logs\nCOPY notes.txt /logs/app.log\n',
    'instruction.md': 'Read /logs/app.log, write /solution/answer.txt',
    'tests/test.sh': '#!/bin/bash\ntest -s /solution/answer.txt && echo 1 > /logs/verifier/reward.txt\n',
  });
  expect(task.instruction).toBe('Read /app/.root/logs/app.log, write /app/.root/solution/answer.txt');
  expect(task.verification.files['test.sh']).toMatchObject({
    text: '#!/bin/bash\ntest -s /app/.root/solution/answer.txt && echo 1 > /tmp/logs/verifier/reward.txt\n',
  });
  expect(task.solution).toMatchObject({
    script: 'sh .root/solution/solve.sh',
    files: { '.root/solution/solve.sh': { text: '#!/bin/sh\ncp /app/.root/solution/out.txt out.txt\n' } },
  });
});

it('takes an image that Harbor has ready for the Dockerfile, and fits it', () => {
  const files = { ...FILES, 'environment/Dockerfile': 'FROM a\nWORKDIR /app\nRUN pip install x\nCOPY notes.txt .\n' };
  const { task, build } = read({ ...CONFIG, environment: { docker_image: 'theirs:2' } }, files);
  expect(task).toMatchObject({ environment: { image: build?.image, workdir: '/app' }, initialFiles: {} });
  expect(build?.files.get('Dockerfile')?.content.toString()).toMatch(/^FROM theirs:2\nUSER 0\nRUN /);
});

it('refuses services beside the container, and leaves them out where an image is named', () => {
  const folder = {
    ...{ name: 'x', config: CONFIG, services: ['db', 'cache'] },
    files: new Map(Object.entries(FILES).map(([path, text]) => [path, fileOf(Buffer.from(text))])),
  };
  expect(() => importHarbor(folder, null)).toThrow('starts db, cache beside the container of the agent');
  expect(importHarbor(folder, 'mine:1').notes).toContainEqual(expect.stringMatching(/starts db, cache .* left out$/));
});

it('reads Dockerfiles as they are written', () => {
  const text =
    'from a:1 as base\nworkdir /x\nWorkDir y\ncopy a.txt \\\n  # not the end\n  b/ "c"/\nCOPY --chown=1:1 a.txt z.txt\nCOPY . .\nENV K the rest of it\n';
  const { image, workdir, env, copies, unsupported } = readDockerfile(text, ['a.txt', 'b/c.txt']);
  expect({ image, workdir, env }).toEqual({ image: 'a:1', workdir: '/x/y', env: { K: 'the rest of it' } });
  expect(unsupported).toEqual([]);
  expect(copies.map(({ from, to }) => `${from} ${to}`)).toEqual([
    'a.txt /x/y/c/a.txt',
    'b/c.txt /x/y/c/c.txt',
    'a.txt /x/y/z.txt',
    'a.txt /x/y/a.txt',
    'b/c.txt /x/y/b/c.txt',
  ]);
});

const USUAL: readonly Place[] = usualPlaces('/w');

it('finds the places of Harbor, and goes back', () => {
  expect(toHere('cd /tests; cat "/logs/verifier/x" ./tests /app/tests $D/tests /tests-2 /testsx', USUAL)).toBe(
    'cd /tmp/tests; cat "/tmp/logs/verifier/x" ./tests /app/tests $D/tests /tests-2 /testsx',
  );
  const pieces = fc.constantFrom('/tests', '/logs', '/solution', '/', ' ', 'x', '.', '-', '\n', '"');
  fc.assert(
    fc.property(
      fc.array(pieces, { maxLength: 10 }).map((parts) => parts.join('')),
      (text) => {
        expect(toHarbor(toHere(text, USUAL), USUAL)).toBe(text);
      },
    ),
    { numRuns: 1000 },
  );
});
