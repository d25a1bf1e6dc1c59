import { randomUUID } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { codeOrText, HoldfastError } from '../../../core/errors/errors.js';
import { takeDataDir } from './data-dir.js';

export interface DataDirLock {
  /** Repeating it does nothing. */
  release(): void;
}

const owner = z.object({ pid: z.number().int().positive(), startedAt: z.string().nullable(), id: z.uuid() });
type Owner = z.infer<typeof owner>;

/**
 * When a process started, in clock ticks since boot, which tells it from a later one with its pid. Null: only its remains
 * are there; undefined: it cannot be known, as on a system without /proc.
 */
function startOf(pid: number): string | null | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name stands in parentheses and may hold anything: fields are counted from its end.
    const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? null : rest[18];
  } catch {
    return undefined;
  }
}

function isAlive({ pid, startedAt }: Owner): boolean {
  const start = startOf(pid);
  return exists(pid) && (start === undefined || startedAt === null || start === startedAt);
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOrText(error) === 'EPERM';
  }
}

/** Null: there is no such file. A damaged one counts as one of a dead process. */
function readOwner(path: string): Owner | null {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOrText(error) === 'ENOENT') return null;
    throw error;
  }
  try {
    return owner.parse(JSON.parse(content));
  } catch {
    return { pid: 2 ** 30, startedAt: '', id: '00000000-0000-4000-8000-000000000000' };
  }
}

/**
 * Makes this process the only owner of a data directory, which `takeDataDir` makes or closes. Throws
 * `data_dir_in_use` with the pid of a live owner, and `config_invalid` when the directory cannot be written.
 *
 * `lock` names the owner. When that one is dead, the one that first links `lock.<its id>` inherits, and so on along the chain;
 * the heir then renames its file to `lock`. A link that was made beside the chain, because the chain was shortened
 * meanwhile, is found by walking it again.
 */
export function lockDataDir(dataDir: string): DataDirLock {
  const me: Owner = { pid: process.pid, startedAt: startOf(process.pid) ?? null, id: randomUUID() };
  const root = join(dataDir, 'lock');
  const draft = join(dataDir, `lock.draft.${process.pid}.${me.id}`);
  try {
    takeDataDir(dataDir);
    writeFileSync(draft, `${JSON.stringify(me)}\n`, { mode: 0o600 });
    try {
      while (!inherit(root, draft, me));
    } finally {
      rmSync(draft, { force: true });
    }
    sweep(dataDir);
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    throw new HoldfastError('config_invalid', `The data directory ${dataDir} cannot be used: ${codeOrText(cause)}.`, {
      cause,
      hint: 'Set HOLDFAST_DATA_DIR to a directory that this user may write.',
    });
  }
  return {
    release() {
      if (readOwner(root)?.id === me.id) rmSync(root, { force: true });
    },
  };
}

/** The place at the end of the chain, which is free unless someone is faster; or that I am there already. */
function endOfChain(root: string, me: Owner): { readonly place: string; readonly mine: boolean } {
  let place = root;
  for (;;) {
    const holder = readOwner(place);
    if (holder === null) return { place, mine: false };
    if (holder.id === me.id) return { place, mine: true };
    if (isAlive(holder)) {
      throw new HoldfastError('data_dir_in_use', `Process ${holder.pid} owns the data directory (lock file ${root}).`);
    }
    place = `${root}.${holder.id}`;
  }
}

function inherit(root: string, draft: string, me: Owner): boolean {
  const { place } = endOfChain(root, me);
  try {
    linkSync(draft, place);
  } catch (error) {
    if (codeOrText(error) === 'EEXIST') return false;
    throw error;
  }
  try {
    if (!endOfChain(root, me).mine) {
      rmSync(place, { force: true });
      return false;
    }
  } catch (error) {
    rmSync(place, { force: true });
    throw error;
  }
  if (place !== root) renameSync(place, root);
  return true;
}

/** Removes what dead processes left; a live one may still be about to link its draft. */
function sweep(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    const [, drafter] = /^lock\.draft\.(\d+)\./.exec(name) ?? [];
    if (drafter === undefined ? name.startsWith('lock.') : !exists(Number(drafter))) {
      rmSync(join(dataDir, name), { force: true });
    }
  }
}
