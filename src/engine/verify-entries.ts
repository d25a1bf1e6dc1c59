import { openCheckpoint } from '../core/checkpoint.js';
import { leafOf } from '../core/log-entry.js';
import type { LogReport } from '../core/log-view.js';
import { rootRecipe, TreeEdge } from '../core/merkle.js';
import { changedSince, unentered, unlinked, vanished } from '../storage/log-check.js';
import { newestCheckpoints } from '../storage/log-checkpoints.js';
import { logSize, readEntries } from '../storage/log-entries.js';
import { readTree } from '../storage/log-tree.js';
import type { Parts } from './parts.js';

const ENTRIES_AT_ONCE = 2000;
const PROBLEMS_MAX = 20;
const STORED_MAX = 10_000;

type Problem = LogReport['problems'][number];

/**
 * Verifies the whole log over all runs: its tree is made again from its entries, every checkpoint that can be read is compared with
 * it, and every entry with the event that it commits to. Names the first problems, at most 20; a run only to its own tenant.
 */
export async function verifyWholeLog(parts: Parts, tenant: string): Promise<LogReport> {
  const { knex } = parts.world;
  const problems: Problem[] = [];
  const found: Found = (what, run) => {
    if (problems.length < PROBLEMS_MAX) problems.push({ what, runId: run?.tenant === tenant ? run.runId : null });
  };
  const entries = await checkTree(parts, found);
  const { checkpoints, size, key, outside } = await checkCheckpoints(parts, entries, found);
  for (const one of await changedSince(knex, PROBLEMS_MAX))
    found(`entry ${one.index} commits to event ${one.seq} of a run, which is missing or says something else`, one);
  for (const one of await vanished(knex, PROBLEMS_MAX))
    found(`entry ${one.index} is of a run that is gone, and that nobody has removed by a command`, one);
  for (const one of await unlinked(knex, PROBLEMS_MAX))
    found(`entry ${one.index} does not follow from the entry before of its run`, one);
  for (const one of await unentered(knex, PROBLEMS_MAX))
    found('a run was entered into the log with its last event, and the log has no such entry', one);
  return { ok: problems.length === 0, entries, checkpoints, size, key, outside, problems };
}

type Found = (what: string, run?: { readonly runId: string; readonly tenant: string }) => void;

/** Gives how many entries there are without a gap, and are what their hashes say. */
async function checkTree(parts: Parts, found: Found): Promise<number> {
  const edge = new TreeEdge();
  const until = await logSize(parts.world.knex);
  for (;;) {
    const batch = await readEntries(parts.world.knex, edge.size, Math.min(ENTRIES_AT_ONCE, until - edge.size));
    if (batch.length === 0) return edge.size;
    for (const entry of batch) {
      if (entry.index !== edge.size) {
        found(`entry ${edge.size} of the log is missing`);
        return edge.size;
      }
      const hashes = edge.append(leafOf(entry)).join('');
      if (hashes === entry.hashes) continue;
      found(`entry ${entry.index} is not what its hashes say`, entry);
      return entry.index;
    }
  }
}

interface Seen {
  checkpoints: number;
  size: number | null;
  key: string | null;
  outside: boolean;
}

async function checkCheckpoints(parts: Parts, entries: number, found: Found): Promise<Seen> {
  const { place, keys } = parts.anchor;
  const seen: Seen = { checkpoints: 0, size: null, key: null, outside: false };
  // Who has no key at all can tell no checkpoint from another.
  if (keys.trusted.length === 0) return seen;
  const check = async (note: string, where: string, outside: boolean): Promise<void> => {
    const checkpoint = openCheckpoint(note, keys.trusted);
    if (typeof checkpoint === 'string') return found(`${where}: ${checkpoint}`);
    seen.checkpoints += 1;
    const { size, root, signedBy } = checkpoint;
    if (size > entries)
      return found(`${where}: a checkpoint of ${size} entries was signed, and ${entries} of them are there`);
    if ((await rootAt(parts, size)) !== root)
      return found(`${where}: the first ${size} entries of the log are not those that were signed`);
    if (size < (seen.size ?? 0) || (size === seen.size && seen.outside)) return;
    Object.assign(seen, { size, key: signedBy.text, outside });
  };
  for await (const { at, note } of place.lines()) await check(note, `the checkpoint of ${at} in ${place.name}`, true);
  for (const { size, note } of await newestCheckpoints(parts.world.knex, STORED_MAX))
    await check(note, `the stored checkpoint of ${size} entries`, false);
  return seen;
}

/** The hashes of the tree were compared with the entries before. */
const rootAt = (parts: Parts, size: number): Promise<string | null> =>
  readTree(parts.world.knex, rootRecipe(size)).catch(() => null);
