import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEngine, type Engine, type EngineConfig, type RunView } from '../../src/index.js';
import type { Database } from '../../src/storage/database/database.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { createEngineDatabase, type TestDatabase } from '../harness/database.js';
import { ADMIN, restOf } from '../harness/engine.js';
import { agents, begun, goAhead, noted, payments } from './agents.js';
import { type Network, openNetwork } from './proxy.js';
import { WorkerProcess } from './worker-process.js';

const END_WITHIN_MS = 150_000;

/** Workers of one PostgreSQL database behind a network, and an engine of this process that serves and executes nothing. */
export interface Fleet {
  readonly engine: Engine;
  /** Of the database itself, past the network. */
  readonly databaseUrl: string;
  readonly network: Network;
  readonly knex: Database['knex'];
  /** The lines of the ledger. */
  readonly paid: () => readonly string[];
  /** Starts a worker, maybe of another build. */
  start(env?: Readonly<Record<string, string>>, program?: readonly string[]): Promise<WorkerProcess>;
  /** How many bodies of `noter` a process has run. */
  readonly notedBy: (worker: WorkerProcess) => number;
  /** How often runs of `waiter` began to wait. */
  readonly begun: () => number;
  /** Lets runs of `waiter` end. */
  letGo(): void;
  /** Ends the connection by which a worker holds its lock. */
  loseLock(worker: string): Promise<void>;
  /** Starts so many runs of an agent. */
  runs(agent: string, count: number): Promise<string[]>;
  /** Settles what is asked about calls of unknown effect by a look into the ledger, until every run is over. */
  finish(ids: readonly string[]): Promise<RunView[]>;
  close(): Promise<void>;
}

/** `given`: on this database; without one, on a fresh one of the test server. */
export async function openFleet(given?: TestDatabase, more: Partial<EngineConfig> = {}): Promise<Fleet> {
  const database = given ?? (await createEngineDatabase('postgres'));
  const { databaseUrl, dataDir } = database.options;
  const ledger = join(dataDir, 'ledger');
  const network = await openNetwork(databaseUrl ?? '');
  const engine = await createEngine({
    ...more,
    agents,
    dataDir,
    databaseUrl: network.url,
    role: 'api',
    workerId: 'api',
  });
  const opened = await openDatabase(database.options);
  const processes: WorkerProcess[] = [];

  const settle = async (): Promise<void> => {
    const { items } = await engine.listInterruptions({ status: 'pending', limit: 100 }, ADMIN);
    for (const { id, runId, callId, kind } of items) {
      if (kind !== 'approval') continue;
      const happened = payments(ledger).includes(`${runId}:${callId}`);
      const decision = happened ? { verdict: 'answer' as const, value: 'seen' } : { verdict: 'approve' as const };
      await engine.decide(id, decision, ADMIN);
    }
  };
  return {
    engine,
    databaseUrl: databaseUrl ?? '',
    network,
    knex: opened.knex,
    paid: () => payments(ledger),
    start: async (env = {}, program) => {
      const worker = new WorkerProcess({ DATABASE_URL: network.url, LEDGER: ledger, ...env }, program);
      processes.push(worker);
      await worker.says('ready');
      return worker;
    },
    notedBy: ({ child }) =>
      existsSync(noted(ledger))
        ? readFileSync(noted(ledger), 'utf8')
            .split('\n')
            .filter((pid) => pid === String(child.pid)).length
        : 0,
    begun: () => (existsSync(begun(ledger)) ? readFileSync(begun(ledger), 'utf8').length : 0),
    letGo: () => writeFileSync(goAhead(ledger), ''),
    loseLock: async (worker) => {
      await opened.knex.raw(
        `select pg_terminate_backend(pid) from pg_locks
          where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
            and classid = (hashtextextended(?, 0) >> 32)::bit(32)::bigint::oid`,
        [`holdfast:worker:${worker}`],
      );
    },
    runs: (agent, count) =>
      Promise.all(Array.from({ length: count }, async () => (await engine.startRun({ agent, input: 'go' }, ADMIN)).id)),
    finish: async (ids) => {
      const isOver = ({ status }: RunView) => status !== 'paused' && status !== 'queued' && status !== 'running';
      for (const until = performance.now() + END_WITHIN_MS; performance.now() < until; await sleep(50)) {
        await settle();
        const found = await Promise.all(ids.map((id) => restOf(engine, id)));
        if (found.every(isOver)) return found;
      }
      throw new Error('the runs do not end');
    },
    close: async () => {
      for (const { child } of processes) if (child.exitCode === null) child.kill('SIGKILL');
      await Promise.all(processes.map(({ ended }) => ended));
      await opened.close();
      await engine.stop();
      await network.close();
      await database.drop();
    },
  };
}
