import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ToolContext } from '../../src/core/tools/tool.js';
import { toolSpecOf } from '../../src/tools/define/define-tool.js';
import { listFilesTool } from '../../src/tools/files/list-files.js';
import { callTool, contextWith, failureOf } from './tool-context.js';
import { shell, subForLink, swapping, useWorkDirectory } from './work-directory.js';

const at = useWorkDirectory();
const spec = toolSpecOf(listFilesTool({ maxEntries: 5 }));
const list = (path: string, context: ToolContext = contextWith(at.grants)) => callTool(spec, { path }, context);

describe('list_files', () => {
  it('lists a directory by name and kind', async () => {
    await symlink(at.outside, join(at.work, 'link'));
    shell(`mkfifo '${at.work}/pipe'`);
    const expected = {
      entries: [
        { name: 'a.txt', type: 'file' },
        { name: 'link', type: 'link' },
        { name: 'pipe', type: 'other' },
        { name: 'sub', type: 'directory' },
      ],
      totalEntries: 4,
    };
    expect(await list(at.work)).toEqual(expected);
    expect(await list(`${at.work}/`)).toEqual(expected);
  });

  it('is bounded, and says so', async () => {
    for (let n = 0; n < 8; n++) await writeFile(join(at.work, `f${n}`), '');
    const listed = await list(at.work);
    expect(listed).toMatchObject({ totalEntries: 10 });
    expect(listed).toHaveProperty('entries.length', 5);
  });

  it('refuses what lies at.outside, and links that lead there', async () => {
    await symlink(at.outside, join(at.work, 'dir'));
    for (const path of [at.outside, at.root, join(at.work, 'dir'), `${at.work}/sub/../../outside`]) {
      expect((await failureOf(list(path))).code).toBe('capability_denied');
    }
    expect(await failureOf(list(join(at.work, 'a.txt')))).toMatchObject({
      message: expect.stringContaining('not a directory'),
    });
  });

  it('refuses a directory that is swapped for a link between check and open', async () => {
    await mkdir(join(at.work, 'sub', 'deep'));
    await mkdir(join(at.outside, 'deep'));
    const context = swapping(at, subForLink(at));
    expect((await failureOf(list(join(at.work, 'sub', 'deep'), context))).code).toBe('capability_denied');
  });
});
