import { link, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ToolContext } from '../../src/core/tools/tool.js';
import { toolSpecOf } from '../../src/tools/define/define-tool.js';
import { readFileTool } from '../../src/tools/files/read-file.js';
import { callTool, contextWith, failureOf } from './tool-context.js';
import { shell, subForLink, swapping, useWorkDirectory, type WorkDirectory } from './work-directory.js';

const at = useWorkDirectory();
const spec = toolSpecOf(readFileTool({ maxBytes: 1000 }));
const read = (path: string, context: ToolContext = contextWith(at.grants)) => callTool(spec, { path }, context);

describe('read_file', () => {
  it('reads text', async () => {
    await writeFile(join(at.work, 'u.txt'), '\ufeffgrün 😀\n');
    expect(await read(join(at.work, 'u.txt'))).toEqual({ content: '\ufeffgrün 😀\n', sizeBytes: 14 });
  });

  it('checks the path that is asked for and the path where it leads', async () => {
    await symlink(join(at.work, 'a.txt'), join(at.work, 'link.txt'));
    const context = contextWith(at.grants);
    expect(await read(join(at.work, 'link.txt'), context)).toMatchObject({ content: 'inside' });
    expect(context.asked.at(-1)).toBe(`fs:read:${at.work}/a.txt`);
  });

  it.each<[string, (at: WorkDirectory) => string]>([
    ['a file outside', ({ outside }) => `${outside}/secret.txt`],
    ['steps upwards', ({ work }) => `${work}/../outside/secret.txt`],
    ['a name with the same beginning', ({ work }) => `${work}2/x`],
    ['NUL', ({ work }) => `${work}/a.txt\u0000.png`],
    ['a backslash', ({ work }) => `${work}\\..\\outside`],
    ['fullwidth dots', ({ work }) => `${work}/．．/outside/secret.txt`],
    ['a process', () => '/proc/self/environ'],
    ['a descriptor', () => '/dev/fd/0'],
  ])('refuses %s', async (_kind, path) => {
    expect((await failureOf(read(path(at)))).code).toBe('capability_denied');
  });

  it('refuses a relative path with a sentence for the model', async () => {
    for (const path of ['a.txt', '../x', '~/x', '', '.', 'file:///work/a.txt']) {
      expect(await failureOf(read(path))).toMatchObject({
        message: expect.stringContaining('must be an absolute path'),
      });
    }
  });

  it('does not take percent-encoding for anything else than letters', async () => {
    await writeFile(join(at.work, 'a%2Fb'), 'literal');
    expect(await read(join(at.work, 'a%2Fb'))).toMatchObject({ content: 'literal' });
    expect(await failureOf(read(`${at.work}/%2e%2e/outside/secret.txt`))).toMatchObject({ code: 'tool_failed' });
  });

  it('refuses a link that leads at.outside, also in the middle, also to what does not exist', async () => {
    await symlink(join(at.outside, 'secret.txt'), join(at.work, 'leak'));
    await symlink(at.outside, join(at.work, 'dir'));
    await symlink('/proc/self/environ', join(at.work, 'env'));
    for (const path of ['leak', 'dir/secret.txt', 'dir/none.txt', 'dir/none/none.txt', 'env']) {
      expect((await failureOf(read(join(at.work, path)))).code).toBe('capability_denied');
    }
  });

  it('refuses what names the process even when everything may be read', async () => {
    await symlink('/proc/self/environ', join(at.work, 'env'));
    for (const path of ['/proc/self/environ', '/dev/stdin', join(at.work, 'env')]) {
      expect((await failureOf(read(path, contextWith(['fs:read:*'])))).code).toBe('capability_denied');
    }
  });

  it('refuses a file that has other names, unless its author allows them', async () => {
    await link(join(at.outside, 'secret.txt'), join(at.work, 'hard'));
    expect(await failureOf(read(join(at.work, 'hard')))).toMatchObject({
      code: 'capability_denied',
      message: expect.stringContaining('the same file has other names'),
    });
    const allowing = toolSpecOf(readFileTool({ allowHardLinks: true }));
    const path = join(at.work, 'hard');
    expect(await callTool(allowing, { path }, contextWith(at.grants))).toMatchObject({ sizeBytes: expect.any(Number) });
  });

  it('refuses a link that leads to nothing and one that leads to itself', async () => {
    await symlink(join(at.outside, 'none'), join(at.work, 'dangling'));
    await symlink(join(at.work, 'loop'), join(at.work, 'loop'));
    expect((await failureOf(read(join(at.work, 'dangling')))).code).toBe('capability_denied');
    expect((await failureOf(read(join(at.work, 'loop')))).code).toBe('capability_denied');
  });

  it('refuses a file that is swapped for a link between check and open', async () => {
    const context = swapping(at, `rm '${at.work}/a.txt' && ln -s '${at.outside}/secret.txt' '${at.work}/a.txt'`);
    expect((await failureOf(read(join(at.work, 'a.txt'), context))).code).toBe('capability_denied');
  });

  it('refuses a directory that is swapped for a link between check and open', async () => {
    await writeFile(join(at.work, 'sub', 'secret.txt'), 'harmless');
    const context = swapping(at, subForLink(at));
    const failure = await failureOf(read(join(at.work, 'sub', 'secret.txt'), context));
    expect(failure).toMatchObject({ code: 'capability_denied', message: expect.stringContaining('replaced') });
  });

  it('obeys a deny inside a granted directory, also through a link', async () => {
    await symlink(join(at.work, 'a.txt'), join(at.work, 'sub', 'alias'));
    const denied = contextWith([...at.grants, { capability: `fs:read:${at.work}/a.txt`, effect: 'deny' }]);
    expect((await failureOf(read(join(at.work, 'sub', 'alias'), denied))).code).toBe('capability_denied');
  });

  it('says what is wrong with a file', async () => {
    await writeFile(join(at.work, 'binary'), Buffer.from([0xff, 0xfe, 0x00]));
    await writeFile(join(at.work, 'large'), 'x'.repeat(1001));
    shell(`mkfifo '${at.work}/pipe'`);
    const says = async (path: string) => failureOf(read(join(at.work, path)));
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
    const context = contextWith(at.grants, { signal: AbortSignal.abort(new Error('stopped')) });
    await expect(read(join(at.work, 'a.txt'), context)).rejects.toThrow('stopped');
  });
});
