import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { GrantInput } from '../../src/core/grants/grants.js';
import type { ToolContext } from '../../src/core/tools/tool.js';
import { contextWith } from './tool-context.js';

export interface WorkDirectory {
  readonly root: string;
  /** Granted, with `a.txt` and an empty `sub`. */
  readonly work: string;
  /** Not granted, with `secret.txt`. */
  readonly outside: string;
  readonly grants: readonly GrantInput[];
}

/** Real directories for each test of a file; what is returned always holds those of the running test. */
export function useWorkDirectory(): WorkDirectory {
  const at = { root: '', work: '', outside: '', grants: [] as GrantInput[] };
  beforeEach(async () => {
    at.root = await realpath(await mkdtemp(join(tmpdir(), 'file-tools-')));
    at.work = join(at.root, 'work');
    at.outside = join(at.root, 'outside');
    at.grants = [`fs:read:${at.work}/**`, `fs:write:${at.work}/**`];
    await mkdir(join(at.work, 'sub'), { recursive: true });
    await mkdir(at.outside);
    await writeFile(join(at.work, 'a.txt'), 'inside');
    await writeFile(join(at.outside, 'secret.txt'), 'secret');
  });
  afterEach(() => rm(at.root, { recursive: true, force: true }));
  return at;
}

export const shell = (script: string): Buffer => execFileSync('sh', ['-c', script]);

/** Puts a link that leads outside in the place of a directory. */
export const subForLink = ({ work, outside }: WorkDirectory): string =>
  `mv '${work}/sub' '${work}/old' && ln -s '${outside}' '${work}/sub'`;

/** A context in which a script runs right after the resolved path was granted: the moment between check and use. */
export function swapping(at: WorkDirectory, script: string): ToolContext {
  const inner = contextWith(at.grants);
  const require = (capability: string) => {
    inner.require(capability);
    // The check of the engine, the tool's check of the path, the tool's check of the resolved path.
    if (inner.asked.length === 3) shell(script);
  };
  return { ...inner, require };
}
