import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { link, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { GrantInput } from '../../src/core/grants.js';
import type { ToolContext } from '../../src/core/tool.js';
import { toolSpecOf } from '../../src/tools/define-tool.js';
import { listFilesTool } from '../../src/tools/list-files.js';
import { readFileTool } from '../../src/tools/read-file.js';
import { writeFileTool } from '../../src/tools/write-file.js';
import { callTool, contextWith, failureOf } from './tool-context.js';

const readSpec = toolSpecOf(readFileTool({ maxBytes: 1000 }));
const writeSpec = toolSpecOf(writeFileTool({ maxBytes: 1000 }));
const listSpec = toolSpecOf(listFilesTool({ maxEntries: 5 }));

let root: string;
let work: string;
let outside: string;
let grants: GrantInput[];

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'file-tools-')));
  work = join(root, 'work');
  outside = join(root, 'outside');
  await mkdir(join(work, 'sub'), { recursive: true });
  await mkdir(outside);
  await writeFile(join(work, 'a.txt'), 'inside');
  await writeFile(join(outside, 'secret.txt'), 'secret');
  grants = [`fs:read:${work}/**`, `fs:write:${work}/**`];
});

afterEach(() => rm(root, { recursive: true, force: true }));

const read = (path: string, context: ToolContext = contextWith(grants)) => callTool(readSpec, { path }, context);
const write = (path: string, content = 'new', context: ToolContext = contextWith(grants)) =>
  callTool(writeSpec, { path, content }, context);
const list = (path: string, context: ToolContext = contextWith(grants)) => callTool(listSpec, { path }, context);

const shell = (script: string) => execFileSync('sh', ['-c', script]);

/** A context in which a script runs right after the resolved path was granted: the moment between check and use. */
function swapping(script: string): ToolContext {
  const inner = contextWith(grants);
  const require = (capability: string) => {
    inner.require(capability);
    // The check of the engine, the tool's check of the path, the tool's check of the resolved path.
    if (inner.asked.length === 3) shell(script);
  };
  return { ...inner, require };
}

const subForLink = () => `mv '${work}/sub' '${work}/old' && ln -s '${outside}' '${work}/sub'`;

describe('read_file', () => {
  it('reads text', async () => {
    await writeFile(join(work, 'u.txt'), '\ufeffgrün 😀\n');
    expect(await read(join(work, 'u.txt'))).toEqual({ content: '\ufeffgrün 😀\n', sizeBytes: 14 });
  });

  it('checks the path that is asked for and the path where it leads', async () => {
    await symlink(join(work, 'a.txt'), join(work, 'link.txt'));
    const context = contextWith(grants);
    expect(await read(join(work, 'link.txt'), context)).toMatchObject({ content: 'inside' });
    expect(context.asked.at(-1)).toBe(`fs:read:${work}/a.txt`);
  });

  it.each<[string, (at: { work: string; outside: string }) => string]>([
    ['a file outside', ({ outside: o }) => `${o}/secret.txt`],
    ['steps upwards', ({ work: w }) => `${w}/../outside/secret.txt`],
    ['a name with the same beginning', ({ work: w }) => `${w}2/x`],
    ['NUL', ({ work: w }) => `${w}/a.txt\u0000.png`],
    ['a backslash', ({ work: w }) => `${w}\\..\\outside`],
    ['fullwidth dots', ({ work: w }) => `${w}/．．/outside/secret.txt`],
    ['a process', () => '/proc/self/environ'],
    ['a descriptor', () => '/dev/fd/0'],
  ])('refuses %s', async (_kind, path) => {
    expect((await failureOf(read(path({ work, outside })))).code).toBe('capability_denied');
  });

  it('refuses a relative path with a sentence for the model', async () => {
    for (const path of ['a.txt', '../x', '~/x', '', '.', 'file:///work/a.txt']) {
      expect(await failureOf(read(path))).toMatchObject({
        message: expect.stringContaining('must be an absolute path'),
      });
    }
  });

  it('does not take percent-encoding for anything else than letters', async () => {
    await writeFile(join(work, 'a%2Fb'), 'literal');
    expect(await read(join(work, 'a%2Fb'))).toMatchObject({ content: 'literal' });
    expect(await failureOf(read(`${work}/%2e%2e/outside/secret.txt`))).toMatchObject({ code: 'tool_failed' });
  });

  it('refuses a link that leads outside, also in the middle, also to what does not exist', async () => {
    await symlink(join(outside, 'secret.txt'), join(work, 'leak'));
    await symlink(outside, join(work, 'dir'));
    await symlink('/proc/self/environ', join(work, 'env'));
    for (const path of ['leak', 'dir/secret.txt', 'dir/none.txt', 'dir/none/none.txt', 'env']) {
      expect((await failureOf(read(join(work, path)))).code).toBe('capability_denied');
    }
  });

  it('refuses what names the process even when everything may be read', async () => {
    await symlink('/proc/self/environ', join(work, 'env'));
    for (const path of ['/proc/self/environ', '/dev/stdin', join(work, 'env')]) {
      expect((await failureOf(read(path, contextWith(['fs:read:*'])))).code).toBe('capability_denied');
    }
  });

  it('refuses a link that leads to nothing and one that leads to itself', async () => {
    await symlink(join(outside, 'none'), join(work, 'dangling'));
    await symlink(join(work, 'loop'), join(work, 'loop'));
    expect((await failureOf(read(join(work, 'dangling')))).code).toBe('capability_denied');
    expect((await failureOf(read(join(work, 'loop')))).code).toBe('capability_denied');
  });

  it('refuses a file that is swapped for a link between check and open', async () => {
    const context = swapping(`rm '${work}/a.txt' && ln -s '${outside}/secret.txt' '${work}/a.txt'`);
    expect((await failureOf(read(join(work, 'a.txt'), context))).code).toBe('capability_denied');
  });

  it('refuses a directory that is swapped for a link between check and open', async () => {
    await writeFile(join(work, 'sub', 'secret.txt'), 'harmless');
    const context = swapping(subForLink());
    const failure = await failureOf(read(join(work, 'sub', 'secret.txt'), context));
    expect(failure).toMatchObject({ code: 'capability_denied', message: expect.stringContaining('replaced') });
  });

  it('obeys a deny inside a granted directory, also through a link', async () => {
    await symlink(join(work, 'a.txt'), join(work, 'sub', 'alias'));
    const denied = contextWith([...grants, { capability: `fs:read:${work}/a.txt`, effect: 'deny' }]);
    expect((await failureOf(read(join(work, 'sub', 'alias'), denied))).code).toBe('capability_denied');
  });

  it('says what is wrong with a file', async () => {
    await writeFile(join(work, 'binary'), Buffer.from([0xff, 0xfe, 0x00]));
    await writeFile(join(work, 'large'), 'x'.repeat(1001));
    execFileSync('mkfifo', [join(work, 'pipe')]);
    const says = async (path: string) => failureOf(read(join(work, path)));
    expect(await says('none')).toMatchObject({
      code: 'tool_failed',
      message: expect.stringContaining('does not exist'),
    });
    expect(await says('sub')).toMatchObject({ message: expect.stringContaining('not a regular file') });
    expect(await says('a.txt/x')).toMatchObject({ message: expect.stringContaining('below a file') });
    expect(await says('binary')).toMatchObject({ message: expect.stringContaining('UTF-8') });
    expect(await says('large')).toMatchObject({
      code: 'payload_too_large',
      message: expect.stringContaining('1000 bytes'),
    });
    expect(await says('pipe')).toMatchObject({ message: expect.stringContaining('not a regular file') });
    expect(await says('x'.repeat(300))).toMatchObject({ message: expect.stringContaining('too long') });
  });

  it('stops when the call is cancelled', async () => {
    const context = contextWith(grants, { signal: AbortSignal.abort(new Error('stopped')) });
    await expect(read(join(work, 'a.txt'), context)).rejects.toThrow('stopped');
  });
});

describe('write_file', () => {
  it('makes and replaces a file, and leaves nothing beside it', async () => {
    expect(await write(join(work, 'n.txt'), 'grün')).toEqual({ sizeBytes: 5 });
    expect(await write(join(work, 'n.txt'), 'second')).toEqual({ sizeBytes: 6 });
    expect(await readFile(join(work, 'n.txt'), 'utf8')).toBe('second');
    expect((await readdir(work)).sort()).toEqual(['a.txt', 'n.txt', 'sub']);
    expect((await stat(join(work, 'n.txt'))).mode & 0o777).toBe(0o644);
  });

  it('keeps the mode of a file', async () => {
    execFileSync('chmod', ['600', join(work, 'a.txt')]);
    await write(join(work, 'a.txt'));
    expect((await stat(join(work, 'a.txt'))).mode & 0o777).toBe(0o600);
  });

  it('clears away what a crash of the same call left behind, and follows no link there', async () => {
    const digest = createHash('sha256').update('run-1:call-1').digest('hex').slice(0, 24);
    const draft = join(work, `.${digest}.draft`);
    await writeFile(draft, 'half');
    await write(join(work, 'n.txt'), 'whole');
    await symlink(join(outside, 'secret.txt'), draft);
    await write(join(work, 'n.txt'), 'again');
    expect(await readFile(join(work, 'n.txt'), 'utf8')).toBe('again');
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
    expect((await readdir(work)).sort()).toEqual(['a.txt', 'n.txt', 'sub']);
  });

  it('is not granted by a grant to read', async () => {
    const context = contextWith([`fs:read:${work}/**`]);
    expect((await failureOf(write(join(work, 'n.txt'), 'x', context))).code).toBe('capability_denied');
  });

  it('refuses paths outside, linked parents and links', async () => {
    await symlink(outside, join(work, 'dir'));
    await symlink(join(outside, 'secret.txt'), join(work, 'leak'));
    await symlink(join(outside, 'none'), join(work, 'dangling'));
    await symlink(join(work, 'a.txt'), join(work, 'alias'));
    for (const path of ['../outside/n.txt', 'dir/n.txt', 'dir/none/n.txt', 'leak', 'dangling', 'alias']) {
      expect((await failureOf(write(`${work}/${path}`))).code).toBe('capability_denied');
    }
    expect(await readdir(outside)).toEqual(['secret.txt']);
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
    expect(await readFile(join(work, 'a.txt'), 'utf8')).toBe('inside');
  });

  it('refuses a file that has another name elsewhere', async () => {
    await link(join(outside, 'secret.txt'), join(work, 'hard'));
    const failure = await failureOf(write(join(work, 'hard')));
    expect(failure).toMatchObject({ code: 'capability_denied', message: expect.stringContaining('other names') });
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
  });

  it('refuses a directory that is swapped for a link between check and open', async () => {
    await mkdir(join(work, 'sub', 'deep'));
    await mkdir(join(outside, 'deep'));
    const context = swapping(subForLink());
    expect((await failureOf(write(join(work, 'sub', 'deep', 'n.txt'), 'x', context))).code).toBe('capability_denied');
    expect(await readdir(join(outside, 'deep'))).toEqual([]);
  });

  it.runIf(process.platform === 'linux')(
    'writes into the directory that was checked, wherever it is moved to',
    async () => {
      const inner = contextWith(grants);
      let moved = false;
      const signal = new Proxy(inner.signal, {
        get: (target, key) => {
          if (key === 'throwIfAborted' && !moved) {
            moved = true;
            shell(subForLink());
          }
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      const parsed = writeSpec.parse({ path: join(work, 'sub', 'n.txt'), content: 'x' });
      expect(parsed.ok).toBe(true);
      if (parsed.ok) await writeSpec.execute(parsed.input, { ...inner, signal });
      expect(moved).toBe(true);
      expect(await readdir(outside)).toEqual(['secret.txt']);
      expect(await readdir(join(work, 'old'))).toEqual(['n.txt']);
    },
  );

  it('says what is wrong', async () => {
    expect(await failureOf(write(join(work, 'none', 'n.txt')))).toMatchObject({
      message: expect.stringContaining('does not exist'),
    });
    expect(await failureOf(write(join(work, 'sub')))).toMatchObject({
      message: expect.stringContaining('not a regular file'),
    });
    expect(await failureOf(write(join(work, 'a.txt', 'x')))).toMatchObject({
      message: expect.stringContaining('not a directory'),
    });
    expect(await failureOf(write(join(work, 'n'), 'x'.repeat(1001)))).toMatchObject({ code: 'payload_too_large' });
    expect(await failureOf(write('/', 'x', contextWith(['fs:write:*'])))).toMatchObject({ code: 'tool_failed' });
  });

  it('leaves the old content when the call is cancelled', async () => {
    const context = contextWith(grants, { signal: AbortSignal.abort(new Error('stopped')) });
    await expect(write(join(work, 'a.txt'), 'new', context)).rejects.toThrow();
    expect(await readFile(join(work, 'a.txt'), 'utf8')).toBe('inside');
    expect((await readdir(work)).sort()).toEqual(['a.txt', 'sub']);
  });
});

describe('list_files', () => {
  it('lists a directory by name and kind', async () => {
    await symlink(outside, join(work, 'link'));
    execFileSync('mkfifo', [join(work, 'pipe')]);
    const expected = {
      entries: [
        { name: 'a.txt', type: 'file' },
        { name: 'link', type: 'link' },
        { name: 'pipe', type: 'other' },
        { name: 'sub', type: 'directory' },
      ],
      totalEntries: 4,
    };
    expect(await list(work)).toEqual(expected);
    expect(await list(`${work}/`)).toEqual(expected);
  });

  it('is bounded, and says so', async () => {
    for (let n = 0; n < 8; n++) await writeFile(join(work, `f${n}`), '');
    const listed = await list(work);
    expect(listed).toMatchObject({ totalEntries: 10 });
    expect(listed).toHaveProperty('entries.length', 5);
  });

  it('refuses what lies outside, and links that lead there', async () => {
    await symlink(outside, join(work, 'dir'));
    for (const path of [outside, root, join(work, 'dir'), `${work}/sub/../../outside`]) {
      expect((await failureOf(list(path))).code).toBe('capability_denied');
    }
    expect(await failureOf(list(join(work, 'a.txt')))).toMatchObject({
      message: expect.stringContaining('not a directory'),
    });
  });

  it('refuses a directory that is swapped for a link between check and open', async () => {
    await mkdir(join(work, 'sub', 'deep'));
    await mkdir(join(outside, 'deep'));
    const context = swapping(subForLink());
    expect((await failureOf(list(join(work, 'sub', 'deep'), context))).code).toBe('capability_denied');
  });
});
