import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import { tarEntries } from '../../src/containers/files/tar-entries.js';
import type { FoundEntry } from '../../src/core/containers/environment.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { Allowance } from '../../src/core/limits/allowance.js';
import { resolveTask } from '../../src/core/tasks/resolve-task.js';
import { parseTask } from '../../src/core/tasks/task-definition.js';
import { DEFAULT_WEIGHTS, type Evidence, judgementOf, verdictOf } from '../../src/core/tasks/task-reward.js';
import { lookAtFiles } from '../../steps/verification/look-at-files.js';
import type { RunText } from '../../steps/verification/said-by-run.js';

/** The search for what was written down, in folders of this machine. */

const root = mkdtempSync(join(tmpdir(), 'holdfast-look-'));
afterAll(() => rmSync(root, { recursive: true }));

const OUTPUT = '1234567891';

const task = resolveTask(
  parseTask({
    ...{ name: 'answer', version: '1.0.0', category: 'words', difficulty: 'easy', instruction: 'Compute it.' },
    ...{ environment: { image: 'any' }, verification: { tests: [{ name: 'no', command: 'false' }] } },
    ...{ expectedOutputs: [OUTPUT], initialFiles: { notes: `Not to be copied: {{mark}}. ${OUTPUT}` } },
    antiHardcoding: { canaries: ['mark'], outputFiles: ['out.txt'] },
  }),
  { parameters: {}, seed: 1 },
  new Allowance(),
);
const MARK = task.canaries['mark'] ?? '';
const NOTES = `Not to be copied: ${MARK}. ${OUTPUT}`;

function folderWith(files: Readonly<Record<string, string>>): string {
  const dir = mkdtempSync(join(root, 'work-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  return dir;
}

async function* entriesOf(dir: string): AsyncGenerator<FoundEntry> {
  const tar = spawn('tar', ['-C', dir, '--format=pax', '-cf', '-', '.'], { stdio: ['ignore', 'pipe', 'ignore'] });
  for await (const entry of tarEntries(tar.stdout)) yield { ...entry, path: entry.path.slice(2) };
}

async function* saying(...said: readonly RunText[]): AsyncGenerator<RunText> {
  yield* said;
}

const look = (dir: string, ...said: readonly RunText[]) =>
  lookAtFiles({ entries: () => entriesOf(dir), said: () => saying(...said) }, task, new AbortController().signal);

const CLEAN = { findings: [], unseen: [] };

it('finds nothing in what the task brought and in what computes', async () => {
  const dir = folderWith({
    notes: NOTES,
    'solve.py': 'print(1 + 1)\n',
    'deep/er/file': '',
    '.git/HEAD': 'ref: main\n',
  });
  expect(await look(dir, { place: 'answer', text: 'done' })).toEqual(CLEAN);
});

it('finds what is compressed, as git compresses its objects, and names what it does not unpack', async () => {
  const loose = (text: string) => deflateSync(Buffer.from(`blob ${text.length}\0${text}`));
  const dir = folderWith({});
  const put = (path: string, bytes: Buffer): void => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), bytes);
  };
  put('.git/objects/aa/brought', loose(NOTES));
  put('.git/objects/bb/answer', loose(`print(${OUTPUT})`));
  put('.git/objects/cc/fast', deflateSync(Buffer.from(`${'x'.repeat(500_000)} ${MARK}`), { level: 1 }));
  put('kept.gz', gzipSync(Buffer.from(`a = ${OUTPUT}`)));
  put('cut.gz', gzipSync(Buffer.concat([Buffer.from(`a = ${OUTPUT} `), randomBytes(300_000)])).subarray(0, 200_000));
  put('xylophone', Buffer.from([0x78, 0x9c, 1, 2, 3]));
  put('.git/objects/pack/pack-1.pack', Buffer.concat([Buffer.from('PACK'), Buffer.alloc(8), randomBytes(100)]));
  const found = await look(dir);
  expect(found.findings.map(({ kind, place }) => `${kind} ${place}`).sort()).toEqual([
    'canary .git/objects/cc/fast',
    'expected_output .git/objects/bb/answer',
    'expected_output cut.gz',
    'expected_output kept.gz',
  ]);
  expect(found.unseen).toEqual([
    '.git/objects/pack/pack-1.pack: a pack of git that cannot be unpacked: it is of an unknown version',
  ]);
});

it('looks into packs of git, also where an object is a difference to another one', async () => {
  const dir = folderWith({ notes: NOTES });
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-C', dir, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { encoding: 'utf8' }).trim();
  git('init', '-q');
  const noise = Array.from({ length: 300 }, () => randomBytes(40).toString('hex'));
  const versions = [noise, [...noise.slice(0, 150), `print(${OUTPUT})`, ...noise.slice(150)], noise.slice(1)];
  const ids = versions.map((lines, number) => {
    writeFileSync(join(dir, 'solve.py'), lines.join('\n'));
    git('add', '.');
    git('commit', '-q', '-m', number === 2 ? `Say ${MARK}` : `Version ${number}`);
    return git('rev-parse', 'HEAD:solve.py');
  });
  const commit = git('rev-parse', 'HEAD');
  for (const byOffset of [true, false]) {
    git(
      '-c',
      `repack.useDeltaBaseOffset=${byOffset}`,
      '-c',
      'core.looseCompression=0',
      'repack',
      '-q',
      '-a',
      '-d',
      '-f',
    );
    for (const left of ['COMMIT_EDITMSG', 'logs']) rmSync(join(dir, '.git', left), { recursive: true, force: true });
    const [pack = ''] = readdirSync(join(dir, '.git/objects/pack')).filter((name) => name.endsWith('.pack'));
    const place = `.git/objects/pack/${pack}, object`;
    expect(git('verify-pack', '-v', join(dir, '.git/objects/pack', pack))).toMatch(/chain length = 1/);
    const { findings, unseen } = await look(dir);
    expect(unseen).toEqual([]);
    expect(findings.map(({ kind, place: where }) => `${kind} ${where}`).sort()).toEqual([
      `canary ${place} ${commit}`,
      `expected_output ${place} ${ids[1]}`,
    ]);
    const file = join(dir, '.git/objects/pack', pack);
    const bytes = readFileSync(file);
    rmSync(file);
    writeFileSync(file, bytes.subarray(0, -40));
    expect((await look(dir)).unseen).toEqual([expect.stringMatching(/a pack of git that cannot be unpacked/)]);
    rmSync(file);
    writeFileSync(file, bytes);
  }
});

it('finds what the task brought where it was copied or changed', async () => {
  const found = await look(folderWith({ notes: `${NOTES}!`, copy: NOTES }));
  expect(found.findings.map(({ kind, place }) => `${kind} ${place}`).sort()).toEqual([
    'canary copy',
    'canary notes',
    'expected_output copy',
    'expected_output notes',
  ]);
});

it('finds it in big files, in .git, behind thousands of files, in no text and in files for the output', async () => {
  const many = Object.fromEntries(Array.from({ length: 1500 }, (_, n) => [`many/${n}`, `${n}`]));
  const dir = folderWith({
    ...many,
    'many/zz.py': `print(${OUTPUT})`,
    big: 'x\n'.repeat(3_000_000),
    '.git/COMMIT_EDITMSG': `answer ${OUTPUT}`,
    binary: '',
    'out.txt': OUTPUT,
    'told/out.txt': MARK.toUpperCase(),
  });
  appendFileSync(join(dir, 'big'), `${OUTPUT} ${MARK}\n`);
  writeFileSync(join(dir, 'binary'), Buffer.concat([Buffer.from([0, 255, 128, 10]), Buffer.from(`${OUTPUT}\0`)]));
  const { findings, unseen } = await look(dir);
  expect(unseen).toEqual([]);
  expect(findings.map(({ kind, place }) => `${kind} ${place}`).sort()).toEqual([
    'canary big',
    'canary told/out.txt',
    'expected_output .git/COMMIT_EDITMSG',
    'expected_output big',
    'expected_output binary',
    'expected_output many/zz.py',
  ]);
  expect(findings.map(({ text }) => text)).toContain(
    `big, line 3000001, holds expected output 1 as it is: ${OUTPUT} ${MARK}`.slice(0, 1000),
  );
});

it('finds canaries in names and links, and a file under two names once', async () => {
  const dir = folderWith({ [`${MARK}.txt`]: '', one: OUTPUT });
  symlinkSync(`/tmp/${MARK}`, join(dir, 'link'));
  linkSync(join(dir, 'one'), join(dir, 'two'));
  const { findings } = await look(dir);
  expect(
    findings
      .filter(({ kind }) => kind === 'canary')
      .map(({ place }) => place)
      .sort(),
  ).toEqual([`${MARK}.txt`, 'link']);
  expect(findings.filter(({ kind }) => kind === 'expected_output')).toHaveLength(1);
});

it('finds canaries that were said, and says what cannot be read', async () => {
  const dir = folderWith({});
  const said = [
    { place: 'answer', text: 'done' },
    { place: 'turn 2', text: `[{"arguments":"{\\"command\\":\\"echo ${MARK}\\"}"}]` },
    { place: 'turn 3', text: null },
  ];
  expect(await look(dir, ...said)).toEqual({
    findings: [{ kind: 'canary', place: 'turn 2', text: 'turn 2 holds the canary mark' }],
    unseen: ['turn 3: it cannot be read'],
  });
});

it('stops at a hundred findings, and says so', async () => {
  const { findings, unseen } = await look(
    folderWith(Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`f${n}`, OUTPUT]))),
  );
  expect(findings).toHaveLength(100);
  expect(unseen).toEqual([expect.stringMatching(/^the files from f\d+ on: 100 findings are enough$/)]);
});

it('says below which folders the engine may see nothing', async () => {
  const path = 'd/'.repeat(1800);
  async function* deep(): AsyncGenerator<FoundEntry> {
    yield { path, size: 0, isFile: false, executable: false, link: null, sameAs: null, content: () => entriesNone() };
  }
  async function* entriesNone(): AsyncGenerator<Buffer> {}
  const { unseen } = await lookAtFiles({ entries: deep, said: () => saying() }, task, new AbortController().signal);
  expect(unseen).toEqual([`what lies below ${path.slice(0, 100)}…: its path is too long`]);
});

const unreadable = new HoldfastError('file_unreadable', '/work cannot be read: it is broken.');

it('begins again where a workspace cannot be read, and says so when that does not help', async () => {
  const dir = folderWith({ a: OUTPUT });
  for (const failing of [1, 2, 3]) {
    let asked = 0;
    const entries = async function* () {
      yield* entriesOf(dir);
      if (++asked <= failing) throw unreadable;
    };
    const found = await lookAtFiles({ entries, said: () => saying() }, task, new AbortController().signal);
    expect(found.findings).toMatchObject([{ place: 'a' }]);
    expect(found.unseen).toEqual(failing < 3 ? [] : ['what comes behind a: /work cannot be read: it is broken.']);
  }
});

it('ends in its time, and says what it did not come to', async () => {
  const endless = async function* (): AsyncGenerator<FoundEntry> {
    for (let n = 0; ; n++)
      yield {
        path: `f${n}`,
        size: 4,
        isFile: true,
        executable: false,
        link: null,
        sameAs: null,
        content: () => entriesOfText('text'),
      };
  };
  async function* entriesOfText(text: string): AsyncGenerator<Buffer> {
    yield Buffer.from(text);
  }
  const { unseen } = await lookAtFiles(
    { entries: endless, said: () => saying() },
    task,
    new AbortController().signal,
    200,
  );
  expect(unseen).toEqual([expect.stringMatching(/^what comes behind f\d+: it took longer than 0.2 seconds$/)]);
});

it('fails by what is neither the agent’s nor a file’s, and ends with its run', async () => {
  const away = new HoldfastError('engine_unreachable', 'It is away.');
  const failing = (error: Error) =>
    async function* (): AsyncGenerator<FoundEntry> {
      yield* entriesOf(folderWith({}));
      throw error;
    };
  const lookWith = (error: Error, signal: AbortSignal) =>
    lookAtFiles({ entries: failing(error), said: () => saying() }, task, signal);
  await expect(lookWith(away, new AbortController().signal)).rejects.toThrow(away);
  await expect(lookWith(unreadable, AbortSignal.abort(new Error('over')))).rejects.toThrow('over');
});

it('what was not looked at is no success, and the reason says it', () => {
  const passed = { ...{ exitCode: 0, timedOut: false, outOfMemory: false, stdout: '', stderr: '', omittedBytes: 0 } };
  const evidence: Evidence = {
    tests: [{ ...passed, name: 'one', weight: 1, share: 1 }],
    ...{ compile: null, lint: null, findings: [], steps: 1, estimatedSteps: null },
  };
  const judged = (found: Evidence) =>
    judgementOf({ evidence: found, verdict: verdictOf(found, DEFAULT_WEIGHTS), given: null });
  expect(judged(evidence)).toMatchObject({ verificationPassed: true, reason: null });
  expect(judged({ ...evidence, unseen: ['what comes behind big: it took too long'] })).toMatchObject({
    verificationPassed: false,
    signals: { looked_through: 0 },
    reason: 'Not looked through: what comes behind big: it took too long.',
  });
});
