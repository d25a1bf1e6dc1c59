import type { Knex } from 'knex';
import type { McpLists } from '../../../steps/context.js';
import { settledOf } from '../../../steps/segment/begin-segment.js';
import { taskOfRun } from '../../../steps/verification/task-of-run.js';
import type { ReplayedRun } from '../../../workflows/replay/replay-log.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { type GrantSet, parseGrants } from '../../core/grants/grants.js';
import { standingOf } from '../../core/interruptions/standing.js';
import { EVENT_DATA } from '../../core/log/event.js';
import type { KeyedEvent } from '../../core/log/recording.js';
import type { McpDefinition } from '../../core/tools/mcp.js';
import { readList } from '../../storage/agents/mcp-lists.js';
import { asLogged } from '../../storage/integrity/copied-rows.js';
import { decisionsOf, interruptionsByIds } from '../../storage/interruptions/interruptions.js';
import { standingByIds } from '../../storage/interruptions/standing-decisions.js';
import { readKeyedEvents } from '../../storage/log/keyed-events.js';
import { grantsOf, type RunRow } from '../../storage/runs/run-row.js';
import { assertNotErased, findRun } from '../../storage/runs/runs.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';

/** All that is stored of a run for its replay. */
export interface StoredRun {
  readonly replayed: Omit<ReplayedRun, 'grants'>;
  readonly lists: McpLists;
  /** Why the run cannot be replayed: its log is broken. Null: the log is whole. */
  readonly refused: HoldfastError | null;
}

/** Reads it, before anything is executed. Throws `run_unknown`, `run_erased`, and the reason of the signal when it fires. */
export async function readForReplay(db: Knex, tenant: string, id: string, signal?: AbortSignal): Promise<StoredRun> {
  const { log, refused } = await wholeLog(db, id, signal);
  // Read after the log: what it says of copies holds for all that was read of them.
  const row = await findRun(db, tenant, id);
  if (row === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  assertNotErased(row);
  const run = refused === null ? asLogged(row, log) : row;
  const decided = idsIn(log, 'segment.started', ({ decisions }) => decisions);
  const interruptions = await interruptionsByIds(db, decided);
  const decisions = await decisionsOf(db, decided);
  const went = idsIn(log, 'call.checked', ({ standingDecision }) =>
    standingDecision === undefined ? [] : [standingDecision],
  );
  const standing = went.length === 0 ? [] : (await standingByIds(db, went)).map(standingOf);
  const settled = new Map(settledOf(interruptions, decisions).map((one) => [one.interruptionId, one]));
  return {
    replayed: {
      run,
      task: await taskOfRun({ knex: db }, run),
      log,
      standing,
      settledOf: (ids) => ids.flatMap((one) => settled.get(one) ?? []),
    },
    lists: await listsOf(db, run, log),
    refused,
  };
}

/** Reads nothing of a log that is broken, and says why. */
async function wholeLog(
  db: Knex,
  id: string,
  signal?: AbortSignal,
): Promise<Pick<StoredRun, 'refused'> & { readonly log: KeyedEvent[] }> {
  try {
    return { log: await readKeyedEvents(db, id, null, signal), refused: null };
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'log_broken')) throw error;
    return { log: [], refused: error };
  }
}

type Kind = 'segment.started' | 'call.checked' | 'mcp.listed';

/** What events of a kind name. One that this build cannot read is found when it is replayed. */
function idsIn<K extends Kind>(
  log: readonly KeyedEvent[],
  kind: K,
  of: (data: (typeof EVENT_DATA)[K]['_output']) => readonly string[],
): string[] {
  const ids = log.flatMap((event) => {
    const data = event.kind === kind ? EVENT_DATA[kind].safeParse(event.data).data : undefined;
    return data === undefined ? [] : of(data);
  });
  return [...new Set(ids)];
}

async function listsOf(db: Knex, run: RunRow, log: readonly KeyedEvent[]): Promise<McpLists> {
  const pins = new Map<string, string>();
  const lists = new Map<string, McpDefinition[]>();
  for (const { kind, data } of log) {
    const listed = kind === 'mcp.listed' ? EVENT_DATA['mcp.listed'].safeParse(data).data : undefined;
    if (listed === undefined || lists.has(listed.digest)) continue;
    pins.set(listed.server, listed.digest);
    const list = await readList(db, run.tenant, listed.digest);
    if (list !== null) lists.set(listed.digest, list);
  }
  return {
    pinned: async (_runId, server) => pins.get(server) ?? null,
    definitions: async (_tenant, digest) => lists.get(digest) ?? null,
  };
}

/** What a run may do if its agent's grants of today had been those that it was started with. */
export function grantsToday(run: RunRow, agent: RegisteredAgent): GrantSet {
  const held = parseGrants(grantsOf(run), { allowEverything: true });
  const narrowed = held.grants.filter(({ layer }) => layer > 0);
  const today = parseGrants([...agent.grants.grants, ...narrowed], { allowEverything: true });
  // Calls are bound to the policy that judged them: what differs is told check by check.
  return { ...today, policyVersion: held.policyVersion };
}
