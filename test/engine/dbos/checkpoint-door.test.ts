import { DBOS } from '@dbos-inc/dbos-sdk';
import { DBOSExecutor } from '@dbos-inc/dbos-sdk/internal/dbos-executor';
import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.js';
import type { SystemPool } from '../../../src/storage/dbos/checkpoints.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, engineFor, restOf, runToRest } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';

let meanwhile: () => Promise<unknown> = async () => undefined;
const shape = { description: 'Does something.', input: z.object({}), output: z.string(), effect: 'pure' as const };
const note = defineTool({ ...shape, name: 'note', execute: () => 'noted' });
const fail = defineTool({
  ...shape,
  name: 'fail',
  execute: () => {
    throw new Error('it failed');
  },
});
const pause = defineTool({
  ...shape,
  name: 'pause',
  execute: async () => {
    await meanwhile();
    return 'gone on';
  },
});
const agentOf = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs), tools: [note, fail, pause] }),
    grants: ['tool:call:*'],
  });

describeEachDatabaseSlowly('the way of a run to its steps', (kind) => {
  const engine = engineFor(kind, {
    agents: [
      agentOf('both', [[call('note', {}, 'c1'), call('fail', {}, 'c2')], [say('done')]]),
      agentOf('pauses', [[call('pause', {}, 'c1')], [call('note', {}, 'c2')], [say('done')]]),
    ],
  });

  /** The pool of DBOS, which is that of the process. */
  const pool = () => DBOSExecutor.globalInstance?.systemDatabase.pool as unknown as SystemPool;

  it('is one statement for each, and what a call gave goes with it', async () => {
    const asked: string[] = [];
    const own = pool();
    const { query } = own;
    const counting: SystemPool['query'] = (text, values) => {
      // Some give a statement with its name.
      asked.push(typeof text === 'string' ? text : JSON.stringify(text));
      return query.call(own, text, values);
    };
    Object.assign(own, { query: counting });
    const run = await runToRest(engine.engine, 'both').finally(() => Object.assign(own, { query }));
    expect(run.status).toBe('completed');
    const ofSteps = asked.filter((text) => text.includes('operation_outputs'));
    // Begin, two answers, two calls, end; and one look at what an execution before might have kept.
    expect(ofSteps.filter((text) => text.includes('insert into'))).toHaveLength(6);
    expect(ofSteps).toHaveLength(7);
    const kept = await own.query('select call_id, outcome from holdfast.calls where run_id = $1 order by 1', [run.id]);
    expect(kept.rows.map((row) => JSON.parse(String(row['outcome'])).type)).toEqual(['output', 'error']);
  });

  it('ends where the workflow was cancelled: the step that was at work is not kept, and none follows', async () => {
    let id = '';
    meanwhile = () => DBOS.cancelWorkflow(id);
    id = (await engine.engine.startRun({ agent: 'pauses', input: 'go' }, ADMIN)).id;
    const run = await restOf(engine.engine, id);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'run_failed' } });
    const steps = await pool().query('select function_name from dbos.operation_outputs where workflow_uuid = $1', [id]);
    expect(steps.rows.map((row) => row['function_name'])).toEqual(['segment:begin', 'model:1']);
    const calls = await pool().query('select outcome from holdfast.calls where run_id = $1', [id]);
    expect(calls.rows).toEqual([]);
  });
});
