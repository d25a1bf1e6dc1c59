import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { WorkerLease } from '../../../src/engine/workers/worker-lease.js';
import { defineTool } from '../../../src/index.js';
import { UNMETERED } from '../../../src/metrics/meter.js';
import type { Database } from '../../../src/storage/database/database.js';
import { migrate } from '../../../src/storage/database/migrate.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { enterForgotten } from '../../../src/storage/evidence/log-entries.js';
import { MEMORY_EVIDENCE } from '../../../src/storage/integrity/proven-memory.js';
import { SignIndex } from '../../../src/storage/memory/sign-index.js';
import { isOwner, registerWorker } from '../../../src/storage/queue/workers.js';
import { findCall, rowOf, settleCall } from '../../../src/storage/runs/calls.js';
import { insertRun } from '../../../src/storage/runs/runs.js';
import { leftBehind } from '../../../src/storage/tasks/artifacts.js';
import { toolSpecOf } from '../../../src/tools/define/define-tool.js';
import { McpConnections } from '../../../src/tools/mcp/mcp-connections.js';
import { callTool } from '../../../steps/calls/call-tool.js';
import { EarlierCalls } from '../../../steps/calls/earlier-calls.js';
import { storedLists } from '../../../steps/calls/pin-mcp-tools.js';
import type { StepContext } from '../../../steps/context.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../../harness/database.js';

/** What happens to an unsafe call between the look at its record and its intent. */

const ran: string[] = [];

const spec = toolSpecOf(
  defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({}),
    output: z.string(),
    effect: 'unsafe',
    execute: (_input, { callId }) => {
      ran.push(callId);
      return 'paid';
    },
  }),
);

describeEachDatabase('one call', (kind) => {
  let test: TestDatabase;
  let database: Database;
  let world: StepContext;
  beforeAll(async () => {
    test = await createEngineDatabase(kind);
    database = await openDatabase(test.options);
    await migrate(database.knex);
    const worker = { recordingVersion: 1, build: 'test', pid: 1, role: 'all', capacity: 1, session: null } as const;
    const epoch = await database.knex.transaction((trx) => registerWorker(trx, { id: 'w', ...worker }));
    const nothing = (): void => {};
    world = {
      ...{ knex: database.knex, worker: { id: 'w', epoch } },
      lease: new WorkerLease(() => isOwner(database.knex, 'w', epoch)),
      queue: {
        ...{ enqueue: async () => {}, takeHere: async () => null, withdraw: async () => {}, remove: async () => true },
        wake: nothing,
      },
      ...{ now: Date.now, newId: () => 'x', approvalTimeoutMs: null, changed: nothing, mcp: new McpConnections() },
      mcpLists: storedLists(database.knex),
      memory: { ...MEMORY_EVIDENCE, enterForgotten },
      embeddings: { embed: async () => [] },
      signs: new SignIndex(),
      execution: () => null,
      ...{
        exportDir: '',
        ...{ buckets: null, repositories: null },
        artifacts: null,
        leftBehind,
        stepsKeepOutcomes: () => false,
        readSecrets: async () => [],
        logStep: null,
      },
      crashLimit: 5,
      prices: { priceOf: () => null },
      environments: null,
      rewards: new Map(),
      metrics: UNMETERED,
      budgets: { onExhausted: 'fail', outputTokens: 1 },
    };
    await database.knex.transaction((trx) =>
      insertRun(trx, {
        ...{ id: 'r', tenant: 'default', agent: 'a', agentVersion: '1', agentHash: 'h', priority: 1, input: 'go' },
        ...{ grants: [], limits: { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null }, metadata: {} },
      }),
    );
  });
  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  const callOf = (callId: string, execution: string) => ({
    intent: {
      ...{ runId: 'r', callId, tenant: 'default', tool: 'pay', toolVersion: '1', effect: 'unsafe' as const },
      ...{ digest: 'd', execution, worker: 'w', epoch: world.worker.epoch },
    },
    ...{
      spec,
      agent: 'a',
      input: {},
      known: null,
      waitDecision: null,
      allowedElsewhere: null,
      repeatApprovedBy: null,
      environment: null,
      state: null,
      memory: null,
      position: async () => 1,
    },
    keepWithStep: null,
    durable: async () => {},
    earlier: new EarlierCalls(null),
    body: (context: Parameters<typeof spec.execute>[1]) => spec.execute({}, context),
    require: () => {},
  });

  it('does not start when the run is stopped while its intent is written', async () => {
    const stop = new AbortController();
    const result = await callTool(world, callOf('stopped', 'one'), stop.signal, async () => stop.abort('cancelled'));
    expect(result).toEqual({ type: 'halted', why: 'cancelled', begun: false });
    expect(ran).not.toContain('stopped');
  });

  it('gets the outcome that another execution reached in the meantime, and does not run', async () => {
    const call = callOf('late', 'two');
    const other = { ...call.intent, execution: 'one' };
    const result = await callTool(world, call, new AbortController().signal, async () => {
      await settleCall(world.knex, other, { type: 'output', output: 'paid before' });
    });
    expect(result).toEqual({ type: 'settled', outcome: { type: 'output', output: 'paid before' } });
    expect(ran).not.toContain('late');
    expect((await findCall(world.knex, 'r', 'late'))?.execution).toBe('one');
  });

  const forged = { type: 'output', output: 'forged' } as const;
  const forge = ({ intent }: ReturnType<typeof callOf>, outcome: typeof forged | null, waiting: string | null = null) =>
    world
      .knex('holdfast.calls')
      .insert({ ...rowOf({ ...intent, execution: 'x', worker: 'elsewhere', epoch: 1 }, outcome), waiting });
  const changed = { type: 'settled', outcome: { type: 'error', code: 'row_changed' } };
  const live = new AbortController().signal;
  const fresh = (callId: string) => ({ ...callOf(callId, 'one'), earlier: new EarlierCalls([]) });

  it.each([
    ['an outcome', forged, null],
    ['an intent', null, null],
    [
      'a wait',
      null,
      '{"expiresInMs":null,"memo":null,"ordinal":1,"spec":{"kind":"question","text":"?","choices":null,"schema":null},"dueAt":null}',
    ],
  ] as const)(
    'that no one has begun does not take %s that its row has already, and does not run',
    async (what, outcome, waiting) => {
      const call = fresh(`forged ${what}`);
      await forge(call, outcome, waiting);
      expect(await callTool(world, call, live, async () => {})).toMatchObject(changed);
      expect(ran).not.toContain(call.intent.callId);
    },
  );

  it('that no one has begun does not take what its row gets while its intent is written', async () => {
    const call = fresh('forged amid');
    expect(await callTool(world, call, live, async () => void (await forge(call, forged)))).toMatchObject(changed);
    expect(ran).not.toContain('forged amid');
  });

  it.each(['pure', 'unsafe'] as const)(
    'that is %s ends with what its body gave, whatever its row has got meanwhile',
    async (effect) => {
      const { intent, ...rest } = fresh(`forged under ${effect}`);
      const { runId: run_id, callId: call_id } = intent;
      const body = async () => {
        await forge({ intent, ...rest }, forged)
          .onConflict(['run_id', 'call_id'])
          .merge(['outcome']);
        return 'paid';
      };
      const call = { ...rest, spec: { ...spec, effect }, intent: { ...intent, effect }, body };
      expect(await callTool(world, call, live, async () => {})).toEqual({
        type: 'settled',
        outcome: { type: 'output', output: 'paid' },
      });
      expect(await world.knex('holdfast.calls').where({ run_id, call_id }).first('outcome')).toMatchObject({
        outcome: expect.stringContaining('forged'),
      });
    },
  );

  it("whose row another process wrote that has taken this one over is that one's", async () => {
    const call = fresh('theirs');
    await forge(call, forged);
    const { epoch } = world.worker;
    const own = (at: number) => world.knex('holdfast.workers').where({ id: 'w' }).update({ epoch: at });
    await own(epoch + 1);
    try {
      expect(await callTool(world, call, live, async () => {})).toEqual({ type: 'superseded' });
    } finally {
      await own(epoch);
    }
  });

  it.each(['pure', 'idempotent', 'unsafe'] as const)(
    'that is %s does not begin in a process that was taken over amid the statements before',
    async (effect) => {
      const { intent, ...call } = callOf(`taken over ${effect}`, 'one');
      const { epoch } = world.worker;
      const takenOver = (by: number) => world.knex('holdfast.workers').where({ id: 'w' }).update({ epoch: by });
      // The intent is committed, and then the process stands still.
      const lease = {
        ...world.lease,
        isHeld: async () => {
          await takenOver(epoch + 1);
          return world.lease.isHeld();
        },
      };
      const asked = { ...call, spec: { ...spec, effect }, intent: { ...intent, effect } };
      try {
        const result = await callTool({ ...world, lease }, asked, new AbortController().signal, async () => {});
        expect(result).toEqual({ type: 'superseded' });
        expect(ran).not.toContain(intent.callId);
      } finally {
        await takenOver(epoch);
      }
    },
  );
});
