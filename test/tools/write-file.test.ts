import { createHash } from 'node:crypto';
import { link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ToolContext } from '../../src/core/tools/tool.js';
import { toolSpecOf } from '../../src/tools/define/define-tool.js';
import { writeFileTool } from '../../src/tools/files/write-file.js';
import { callTool, contextWith, failureOf } from './tool-context.js';
import { shell, subForLink, swapping, useWorkDirectory } from './work-directory.js';

const at = useWorkDirectory();
const writeSpec = toolSpecOf(writeFileTool({ maxBytes: 1000 }));
const write = (path: string, content = 'new', context: ToolContext = contextWith(at.grants)) =>
  callTool(writeSpec, { path, content }, context);

describe('write_file', () => {
  it('makes and replaces a file, and leaves nothing beside it', async () => {
    expect(await write(join(at.work, 'n.txt'), 'grün')).toEqual({ sizeBytes: 5 });
    expect(await write(join(at.work, 'n.txt'), 'second')).toEqual({ sizeBytes: 6 });
    expect(await readFile(join(at.work, 'n.txt'), 'utf8')).toBe('second');
    expect((await readdir(at.work)).sort()).toEqual(['a.txt', 'n.txt', 'sub']);
    expect((await stat(join(at.work, 'n.txt'))).mode & 0o777).toBe(0o644);
  });

  it('keeps the mode of a file', async () => {
    shell(`chmod 600 '${at.work}/a.txt'`);
    await write(join(at.work, 'a.txt'));
    expect((await stat(join(at.work, 'a.txt'))).mode & 0o777).toBe(0o600);
  });

  it('clears away what a crash of the same call left behind, and follows no link there', async () => {
    const digest = createHash('sha256').update('run-1:call-1').digest('hex').slice(0, 24);
    const draft = join(at.work, `.${digest}.draft`);
    await writeFile(draft, 'half');
    await write(join(at.work, 'n.txt'), 'whole');
    await symlink(join(at.outside, 'secret.txt'), draft);
    await write(join(at.work, 'n.txt'), 'again');
    expect(await readFile(join(at.work, 'n.txt'), 'utf8')).toBe('again');
    expect(await readFile(join(at.outside, 'secret.txt'), 'utf8')).toBe('secret');
    expect((await readdir(at.work)).sort()).toEqual(['a.txt', 'n.txt', 'sub']);
  });

  it('is not granted by a grant to read', async () => {
    const context = contextWith([`fs:read:${at.work}/**`]);
    expect((await failureOf(write(join(at.work, 'n.txt'), 'x', context))).code).toBe('capability_denied');
  });

  it('refuses paths at.outside, linked parents and links', async () => {
    await symlink(at.outside, join(at.work, 'dir'));
    await symlink(join(at.outside, 'secret.txt'), join(at.work, 'leak'));
    await symlink(join(at.outside, 'none'), join(at.work, 'dangling'));
    await symlink(join(at.work, 'a.txt'), join(at.work, 'alias'));
    for (const path of ['../outside/n.txt', 'dir/n.txt', 'dir/none/n.txt', 'leak', 'dangling', 'alias']) {
      expect((await failureOf(write(`${at.work}/${path}`))).code).toBe('capability_denied');
    }
    expect(await readdir(at.outside)).toEqual(['secret.txt']);
    expect(await readFile(join(at.outside, 'secret.txt'), 'utf8')).toBe('secret');
    expect(await readFile(join(at.work, 'a.txt'), 'utf8')).toBe('inside');
  });

  it('refuses a file that has another name elsewhere', async () => {
    await link(join(at.outside, 'secret.txt'), join(at.work, 'hard'));
    const failure = await failureOf(write(join(at.work, 'hard')));
    expect(failure).toMatchObject({ code: 'capability_denied', message: expect.stringContaining('other names') });
    expect(await readFile(join(at.outside, 'secret.txt'), 'utf8')).toBe('secret');
  });

  it('refuses a directory that is swapped for a link between check and open', async () => {
    await mkdir(join(at.work, 'sub', 'deep'));
    await mkdir(join(at.outside, 'deep'));
    const context = swapping(at, subForLink(at));
    expect((await failureOf(write(join(at.work, 'sub', 'deep', 'n.txt'), 'x', context))).code).toBe(
      'capability_denied',
    );
    expect(await readdir(join(at.outside, 'deep'))).toEqual([]);
  });

  it.runIf(process.platform === 'linux')(
    'writes into the directory that was checked, wherever it is moved to',
    async () => {
      const inner = contextWith(at.grants);
      let moved = false;
      const signal = new Proxy(inner.signal, {
        get: (target, key) => {
          if (key === 'throwIfAborted' && !moved) {
            moved = true;
            shell(subForLink(at));
          }
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      const parsed = writeSpec.parse({ path: join(at.work, 'sub', 'n.txt'), content: 'x' });
      expect(parsed.ok).toBe(true);
      if (parsed.ok) await writeSpec.execute(parsed.input, { ...inner, signal });
      expect(moved).toBe(true);
      expect(await readdir(at.outside)).toEqual(['secret.txt']);
      expect(await readdir(join(at.work, 'old'))).toEqual(['n.txt']);
    },
  );

  it('says what is wrong', async () => {
    expect(await failureOf(write(join(at.work, 'none', 'n.txt')))).toMatchObject({
      message: expect.stringContaining('does not exist'),
    });
    expect(await failureOf(write(join(at.work, 'sub')))).toMatchObject({
      message: expect.stringContaining('not a regular file'),
    });
    expect(await failureOf(write(join(at.work, 'a.txt', 'x')))).toMatchObject({
      message: expect.stringContaining('not a directory'),
    });
    expect(await failureOf(write(join(at.work, 'n'), 'x'.repeat(1001)))).toMatchObject({ code: 'payload_too_large' });
    expect(await failureOf(write('/', 'x', contextWith(['fs:write:*'])))).toMatchObject({ code: 'tool_failed' });
  });

  it('leaves the old content when the call is cancelled', async () => {
    const context = contextWith(at.grants, { signal: AbortSignal.abort(new Error('stopped')) });
    await expect(write(join(at.work, 'a.txt'), 'new', context)).rejects.toThrow();
    expect(await readFile(join(at.work, 'a.txt'), 'utf8')).toBe('inside');
    expect((await readdir(at.work)).sort()).toEqual(['a.txt', 'sub']);
  });
});
