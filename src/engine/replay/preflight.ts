import type { Knex } from 'knex';
import { presentState } from '../../../workflows/resume/rebuild-state.js';
import { installSdkPatches } from '../../../workflows/sdk/patch-runner.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { parseGrants } from '../../core/grants/grants.js';
import type { KeyedEvent } from '../../core/log/recording.js';
import { judgePreflight, type PreflightFacts, type PreflightRun } from '../../core/replay/preflight.js';
import { isOver } from '../../core/runs/run.js';
import { openExisting } from '../../storage/database/data-dir/existing-database.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { countLiveRuns, type LiveRun, liveRuns } from '../../storage/dbos/segment-rows.js';
import type { InterruptionRow } from '../../storage/interruptions/interruption-rows.js';
import { pendingOf } from '../../storage/interruptions/interruptions.js';
import { grantsOf, type RunRow } from '../../storage/runs/run-row.js';
import { type SnapshotRow, snapshotOf, soundState } from '../../storage/runs/snapshots.js';
import { type RegisteredAgent, registerAgents } from '../agents/agent-registry.js';
import { assertConfig } from '../agents/assert-config.js';
import { mapConcurrently } from '../concurrency/concurrency-limits.js';
import { RECORDING_VERSION } from '../dbos/recording-version.js';
import type { EngineConfig } from '../engine-config.js';
import { AgentVersions } from '../evolution/agent-versions.js';
import { withEvolution } from '../evolution/evolution-agent.js';
import { isGone, unfitNow } from '../interruptions/approval-terms.js';
import { replayStored } from './replay-run.js';
import { readForReplay, type StoredRun } from './replayed-run.js';

const BATCH = 100;
/** Each has a log in memory. */
const AT_ONCE = 8;

/** What a build would make of one run, and how far the preflight is. */
export interface PreflightStep {
  readonly done: number;
  readonly total: number;
  readonly run: PreflightRun;
}

/**
 * Replays every run that is not over against this configuration and build, some side by side. It starts no engine: it takes
 * no work and no lock of a worker, migrates nothing and writes nothing. Throws what a start would throw for the configuration,
 * `database_older`, `database_newer`, and on the embedded database `data_dir_in_use` while a server runs.
 */
export async function* preflight(config: EngineConfig): AsyncGenerator<PreflightStep, void> {
  assertConfig(config);
  const shared = registerAgents(withEvolution(config, { engine: noEngine, replayWaiting: noEngine }));
  const database = await openExisting({
    databaseUrl: config.databaseUrl ?? null,
    dataDir: config.dataDir ?? '.holdfast',
  });
  if (database === null) return;
  try {
    installSdkPatches(null);
    const { knex } = database;
    const versions = new AgentVersions(knex, shared, new Set());
    let done = 0;
    let after = '';
    for (;;) {
      const batch = await liveRuns(knex, after, BATCH);
      const total = done + batch.length < BATCH ? done + batch.length : await countLiveRuns(knex);
      after = batch.at(-1)?.id ?? after;
      for await (const run of mapConcurrently(batch, AT_ONCE, (live) => judge(knex, versions, live))) {
        done++;
        if (run !== null) yield { done, total: Math.max(done, total), run };
      }
      if (batch.length < BATCH) return;
    }
  } finally {
    await database.close();
  }
}

const noEngine = (): never => {
  throw new HoldfastError('engine_not_running', 'A preflight executes no tools.');
};

interface Seen {
  readonly stored: StoredRun;
  readonly pending: readonly InterruptionRow[];
  readonly snapshot: SnapshotRow | undefined;
}

async function judge(db: Knex, versions: AgentVersions, live: LiveRun): Promise<PreflightRun | null> {
  const seen = await see(db, live);
  if (seen === null) return null;
  const { run, log } = seen.stored.replayed;
  const { id: runId, tenant, agent, status } = run;
  const agents = await versions.agentsOf(run);
  const registered = agents.get(agent);
  // It goes on with the grants that it was started with.
  const report = await replayStored(agents, seen.stored, (row) =>
    parseGrants(grantsOf(row), { allowEverything: true }),
  );
  const facts: PreflightFacts = {
    ...{ status, agent, report, lastBegan: lastBegan(log), version: versionOf(live) },
    state: registered === undefined ? 'none' : await stateOf(seen, registered),
    withoutTool: registered === undefined ? [] : seen.pending.flatMap((one) => goneOf(registered, one)),
    unfit: seen.pending.flatMap((one) => unfitOf(agents, run, one)),
  };
  const { verdict, reasons } = judgePreflight(facts);
  return { runId, tenant, agent, status, verdict, reasons: [...reasons], events: report.events };
}

/** Reads all that is looked at of a run as of one moment; null: it is over, or gone. */
async function see(db: Knex, { id, tenant }: LiveRun): Promise<Seen | null> {
  try {
    return await atOneMoment(db, async (trx) => {
      const stored = await readForReplay(trx, tenant, id);
      const { run } = stored.replayed;
      if (isOver(run.status)) return null;
      const [snapshot] = await snapshotOf(trx, id, run.segment);
      return { stored, snapshot, pending: run.status === 'paused' ? await pendingOf(trx, id) : [] };
    });
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'run_unknown') return null;
    throw error;
  }
}

const lastBegan = (log: readonly KeyedEvent[]): number =>
  log.findLast(({ kind }) => kind === 'segment.started')?.seq ?? 0;

const versionOf = ({ version }: LiveRun): PreflightFacts['version'] =>
  version === null || !/^\d{1,9}$/.test(version) ? null : { recorded: Number(version), present: RECORDING_VERSION };

async function stateOf({ stored, snapshot }: Seen, { agent }: RegisteredAgent): Promise<PreflightFacts['state']> {
  const { run } = stored.replayed;
  // What begins with a recording makes its state of that.
  if (run.segment === 0 || (snapshot === undefined && run.recorded_seq !== null)) return 'none';
  const state = soundState(snapshot);
  if (state === null) return 'lost';
  return (await presentState(state, agent)) === null ? 'other' : 'kept';
}

const goneOf = (
  registered: RegisteredAgent,
  { agent, call_id: callId, tool }: InterruptionRow,
): PreflightFacts['withoutTool'] =>
  callId !== null && tool !== null && isGone(registered, agent, tool) ? [{ tool, callId }] : [];

function unfitOf(
  agents: ReadonlyMap<string, RegisteredAgent>,
  run: RunRow,
  row: InterruptionRow,
): PreflightFacts['unfit'] {
  const unfit = unfitNow(agents, run, row);
  const { call_id: callId, tool } = row;
  if (unfit === null || unfit.pointer === '/tool' || callId === null || tool === null) return [];
  return [{ tool, callId, why: unfit.text }];
}
