import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Database } from '../../src/storage/database/database.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { type Checkpoint, readHistory, type SystemPool } from '../../src/storage/dbos/checkpoints.js';
import { StepGroup } from '../../src/storage/dbos/step-group.js';
import { type KeptOutcome, rowOf } from '../../src/storage/runs/calls.js';
import { insertRun } from '../../src/storage/runs/runs.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../harness/database.js';

describeEachDatabase('steps of several runs that are ready at once', (kind) => {
  let place: TestDatabase;
  let db: Database;
  let group: StepGroup;
  let sent: number[] = [];
  let made = 0;
  beforeAll(async () => {
    place = await createEngineDatabase(kind);
    db = await openDatabase(place.options);
    const pool: SystemPool = {
      query: (text, values) => {
        // Several steps are rows of one value.
        sent.push(values.length === 1 ? (JSON.parse(String(values[0])) as unknown[]).length : 1);
        return db.pool.query(text, values);
      },
    };
    group = new StepGroup(pool, 'dbos');
  });
  beforeEach(() => {
    sent = [];
  });
  afterAll(async () => {
    await db.close();
    await place.drop();
  });

  async function newRun(owner: string | null = 'me'): Promise<string> {
    const id = `run-${++made}`;
    await db.knex.transaction(async (trx) => {
      await trx('dbos.workflow_status').insert({ workflow_uuid: id, status: 'PENDING', name: 'n', owner_xid: owner });
      await insertRun(trx, {
        ...{ id, tenant: 'default', agent: 'a', agentVersion: '1', agentHash: 'h', priority: 1, input: 'go' },
        ...{ grants: [], limits: { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null }, metadata: {} },
      });
    });
    return id;
  }
  const newRuns = async (count: number): Promise<readonly string[]> => {
    const ids: string[] = [];
    while (ids.length < count) ids.push(await newRun());
    return ids;
  };
  const stepOf = (workflowId: string, more: Partial<Checkpoint> = {}): Checkpoint => ({
    ...{ workflowId, functionId: 3, functionName: 'step', owner: 'me', output: `{"of":"${workflowId}"}`, error: null },
    ...{ childWorkflowID: null, serialization: null, startedAt: 10, completedAt: 20, application: 'a', ...more },
  });
  const callOf = (runId: string, output: string): KeptOutcome =>
    rowOf(
      {
        ...{ runId, callId: 'c', tenant: 'default', tool: 't', toolVersion: '1', effect: 'pure', digest: 'd' },
        ...{ execution: 'e', worker: 'w', epoch: 1 },
      },
      { type: 'output', output },
    );
  const outputOf = async (id: string) => (await readHistory(db.pool, 'dbos', id)).steps.get(3)?.output ?? null;
  const outcomeOf = (id: string) => db.knex('holdfast.calls').where({ run_id: id }).pluck('outcome');

  it('leave in few statements, and each is kept as if it were alone', async () => {
    const ids = await newRuns(40);
    const kept = await Promise.all(ids.map((id, n) => group.save(stepOf(id, { completedAt: 20 + n }), callOf(id, id))));
    expect(kept).toEqual(ids.map((_id, n) => 20 + n));
    expect(sent).toHaveLength(3);
    for (const id of ids) {
      expect(await outputOf(id)).toBe(`{"of":"${id}"}`);
      expect(await outcomeOf(id)).toEqual([`{"output":"${id}","type":"output"}`]);
    }
  });

  it('do not wait for others: one that is ready alone leaves alone, and what comes meanwhile leaves next', async () => {
    const [first = '', ...others] = await newRuns(12);
    const alone = group.save(stepOf(first), null);
    await new Promise((resolve) => process.nextTick(resolve));
    const later = others.map((id) => group.save(stepOf(id), null));
    await Promise.all([alone, ...later]);
    expect(sent).toEqual([1, 11]);
  });

  it('touch no other step when they may not be kept', async () => {
    const [fine = '', lost = '', before = '', settled = '', mine = '', called = ''] = await newRuns(6);
    const cancelled = await newRun(null);
    await group.save(stepOf(before, { output: 'first' }), null);
    await db.knex('holdfast.calls').insert([callOf(settled, 'first'), callOf(mine, 'first')]);
    sent = [];
    const kept = await Promise.all([
      group.save(stepOf(fine), null),
      group.save(stepOf(lost, { owner: 'another' }), callOf(lost, 'x')),
      group.save(stepOf(before, { output: 'second', completedAt: 30 }), null),
      group.save(stepOf(settled), callOf(settled, 'second')),
      group.save(stepOf(mine), { ...callOf(mine, 'second'), isNew: true }),
      group.save(stepOf(called), callOf(called, 'x')),
      group.save(stepOf(cancelled), callOf(cancelled, 'x')),
      group.save(stepOf('unknown'), null),
    ]);
    expect(sent).toHaveLength(1);
    expect(kept).toEqual([20, null, 20, null, 20, 20, null, null]);
    expect(await Promise.all([fine, lost, before, settled, mine, called].map(outputOf))).toEqual([
      ...[`{"of":"${fine}"}`, null, 'first', null, `{"of":"${mine}"}`, `{"of":"${called}"}`],
    ]);
    const outcomes = await Promise.all([lost, settled, mine, called, cancelled].map(outcomeOf));
    const text = (output: string) => [`{"output":"${output}","type":"output"}`];
    expect(outcomes).toEqual([[], text('first'), text('first'), text('x'), []]);
  });

  it('of one workflow leave together, the same step twice does not', async () => {
    const [id = ''] = await newRuns(1);
    const steps = [3, 4, 5].map((functionId) => group.save(stepOf(id, { functionId }), null));
    const again = group.save(stepOf(id, { completedAt: 30 }), null);
    const [kept, ...others] = await Promise.all(steps);
    expect(others).toEqual([20, 20]);
    // The one that the database got first stands for both.
    expect([20, 30]).toContain(kept);
    expect(await again).toBe(kept);
    expect(sent).toHaveLength(2);
  });

  it('fail for themselves: the one that the database refuses, and no other', async () => {
    const [bad = '', ...others] = await newRuns(5);
    const refused = expect(group.save(stepOf(bad, { output: 'a\u0000b' }), callOf(bad, 'x'))).rejects.toThrow();
    const kept = await Promise.all(others.map((id) => group.save(stepOf(id), callOf(id, 'x'))));
    await refused;
    expect(kept).toEqual([20, 20, 20, 20]);
    expect(await outputOf(bad)).toBeNull();
    expect(await outcomeOf(bad)).toEqual([]);
  });

  it('leave apart where their text is long', async () => {
    const ids = await newRuns(3);
    const output = 'x'.repeat(60_000);
    await Promise.all(ids.map((id) => group.save(stepOf(id, { output }), null)));
    expect(sent).toHaveLength(3);
  });
});
