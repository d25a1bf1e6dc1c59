import { Agent } from '@openai/agents';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { sha256 } from '../../../src/core/json.js';
import type { PreflightRun } from '../../../src/core/replay/preflight.js';
import { preflight } from '../../../src/engine/replay/preflight.js';
import { createEngine, defineAgent, defineTool, type Engine, type EngineConfig } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import {
  createEngineDatabase,
  describeEachDatabaseSlowly,
  describePostgres,
  type TestDatabase,
} from '../../harness/database.js';
import { ADMIN, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

const input = z.object({ n: z.number() });
const toolOf = (name: string, changes: object = {}) =>
  defineTool({
    ...{ name, description: 'Does it.', input, output: z.string(), effect: 'unsafe' },
    execute: () => 'done',
    ...changes,
  });
const look = (changes: object = {}) => toolOf('look', changes);
const pay = (changes: object = {}) => toolOf('pay', { approval: true, ...changes });

interface Build {
  readonly instructions?: string;
  readonly tools?: ReturnType<typeof toolOf>[];
  readonly name?: string;
}

/** A clerk that looks, and then asks a person whether it may pay. */
const buildOf = ({ instructions = 'You pay.', tools = [look(), pay()], name = 'clerk' }: Build = {}) => ({
  agents: [
    defineAgent({
      agent: new Agent({
        ...{ name, instructions, tools },
        model: scripted([[call('look', { n: 1 }, 'a')], [call('pay', { n: 2 }, 'b')]]),
      }),
      grants: ['tool:call:*'],
    }),
  ],
});

describeEachDatabaseSlowly('a preflight', (kind) => {
  let database: TestDatabase;
  let engine: Engine | null = null;
  let runId = '';

  const stopped = async <T>(work: () => Promise<T>): Promise<T> => {
    await engine?.stop({ graceMs: 0 });
    engine = null;
    return work();
  };
  const changed = async (sql: string, values: readonly string[]) => {
    const opened = await openDatabase(database.options);
    await opened.knex.raw(sql, [...values]);
    await opened.close();
  };
  const flown = async (build: Omit<EngineConfig, 'databaseUrl'>): Promise<PreflightRun[]> => {
    const runs: PreflightRun[] = [];
    for await (const { run } of preflight({ ...build, ...database.options })) runs.push(run);
    return runs;
  };

  beforeEach(async () => {
    database = await createEngineDatabase(kind);
    engine = await createEngine({ ...buildOf(), ...database.options, workerId: 'old' });
    runId = (await runToRest(engine, 'clerk')).id;
    return async () => {
      await engine?.stop({ graceMs: 0 });
      await database.drop();
    };
  });

  it('finds a run safe in the build that it was made in, and leaves the database as it was', async () => {
    await stopped(async () => {
      const stored = async () => {
        const opened = await openDatabase(database.options);
        const tables = ['runs', 'events', 'calls', 'snapshots', 'interruptions', 'workers', 'migrations'];
        const rows = await Promise.all(tables.map((table) => opened.knex(`holdfast.${table}`)));
        await opened.close();
        return JSON.stringify(rows);
      };
      const before = await stored();
      const runs = await flown(buildOf());
      expect(runs).toMatchObject([{ runId, agent: 'clerk', status: 'paused', verdict: 'safe', reasons: [] }]);
      expect(runs[0]?.events).toBeGreaterThan(8);
      expect(await stored()).toBe(before);
    });
  });

  it('says in plain words what would become of it', async () => {
    await stopped(async () => {
      const verdict = async (build: Build) => {
        const [run] = await flown(buildOf(build));
        return { verdict: run?.verdict, said: run?.reasons.join(' ') ?? '' };
      };
      expect(await verdict({ instructions: 'You pay at once.' })).toMatchObject({
        ...{ verdict: 'safe', said: expect.stringContaining('What the model is told differs') },
      });
      expect(await verdict({ name: 'teller' })).toMatchObject({
        ...{ verdict: 'would_strand', said: expect.stringContaining('agent_unknown') },
      });
      expect(await verdict({ tools: [look()] })).toMatchObject({
        ...{ verdict: 'would_strand', said: expect.stringContaining('The tool pay is gone') },
      });
      expect(await verdict({ tools: [look(), pay({ version: '2' })] })).toMatchObject({
        ...{ verdict: 'needs_attention', said: expect.stringContaining('/toolVersion') },
      });
      const whole = z.object({ n: z.string() });
      const unfit = await verdict({ tools: [look(), pay({ input: whole })] });
      expect(unfit).toMatchObject({
        ...{ verdict: 'needs_attention', said: expect.stringContaining('its arguments no longer fit') },
      });
      expect(unfit.said).toContain('call_unfit');
      expect(unfit.said).not.toContain('It parts from its log');
      expect(await verdict({ tools: [look({ approval: true }), pay()] })).toMatchObject({
        ...{ verdict: 'needs_attention', said: expect.stringContaining('expected allow, came ask') },
      });
    });
  });

  it('knows whether a lost state can be made again', async () => {
    await stopped(async () => {
      await changed('delete from holdfast.snapshots where run_id = ?', [runId]);
      expect(await flown(buildOf())).toMatchObject([
        { verdict: 'safe', reasons: [expect.stringContaining('made again from the log')] },
      ]);
      const [run] = await flown(buildOf({ tools: [look({ approval: true }), pay()] }));
      expect(run).toMatchObject({ verdict: 'would_strand' });
      expect(run?.reasons[0]).toContain('state_unreadable');
    });
  });

  it('knows a state of another SDK', async () => {
    await stopped(async () => {
      const foreign = '{"$schemaVersion":"9.99"}';
      await changed('update holdfast.snapshots set state = ?, digest = ? where run_id = ?', [
        ...[foreign, sha256(foreign), runId],
      ]);
      expect(await flown(buildOf())).toMatchObject([
        { verdict: 'safe', reasons: [expect.stringContaining('of another version of the SDK')] },
      ]);
    });
  });

  it('refuses a database that has migrations of a newer build', async () => {
    await stopped(async () => {
      const last = '(select max(id) from holdfast.migrations)';
      await changed(`update holdfast.migrations set name = name || '_later' where id = ${last}`, []);
      await expect(flown(buildOf())).rejects.toMatchObject({ code: 'database_newer' });
    });
  });

  it('beside a server: on PostgreSQL, and refused by name on the embedded database', async () => {
    if (kind === 'postgres') return expect(await flown(buildOf())).toMatchObject([{ verdict: 'safe' }]);
    await expect(flown(buildOf())).rejects.toMatchObject({ code: 'data_dir_in_use' });
  });
});

describePostgres('a preflight of a run at work', () => {
  it('says what a newer recording version means', async () => {
    const database = await createEngineDatabase('postgres');
    const stands = toolOf('look', {
      execute: (_input: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
    });
    const build = buildOf({ tools: [stands, pay()] });
    const engine = await createEngine({ ...build, ...database.options, workerId: 'old' });
    try {
      const { id } = await engine.startRun({ agent: 'clerk', input: 'go' }, ADMIN);
      for await (const { kind } of engine.streamEvents(id, { after: 0, signal: new AbortController().signal }, ADMIN))
        if (kind === 'call.started') break;
      const verdicts = async (of: Build) => {
        const runs: PreflightRun[] = [];
        for await (const { run } of preflight({ ...buildOf(of), ...database.options })) runs.push(run);
        return runs;
      };
      expect(await verdicts({ tools: [stands, pay()] })).toMatchObject([{ status: 'running', verdict: 'safe' }]);
      expect(await verdicts({ tools: [look({ version: '2' }), pay()] })).toMatchObject([
        { verdict: 'would_strand', reasons: [expect.stringContaining('replay_diverged')] },
      ]);
      const opened = await openDatabase(database.options);
      await opened.knex.raw("update dbos.workflow_status set application_version = '99'");
      await opened.close();
      expect(await verdicts({ tools: [stands, pay()] })).toMatchObject([
        { verdict: 'would_strand', reasons: [expect.stringContaining('recorded under version 99')] },
      ]);
    } finally {
      await engine.stop({ graceMs: 0 });
      await database.drop();
    }
  });
});
