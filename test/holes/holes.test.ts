import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { Agent, Runner, RunState, tool } from '@openai/agents';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { createTestDatabase } from '../harness/database.js';
import { decideAndRest, openTestEngine, runToRest } from '../harness/engine.js';
import { call, resultsIn, say, scripted } from '../harness/script.js';
import { SLOW } from '../harness/slow.js';

/**
 * What a bare DBOS step and a bare RunState leave open, shown on the libraries themselves, beside what a run does. When a
 * library closes one of these, its test here fails, and something of ours can be simplified.
 */
const dir = mkdtempSync(join(tmpdir(), 'holdfast-holes-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const input = z.object({});
const plainTool = (name: string, ran: string[], needsApproval: boolean) =>
  tool({
    name,
    description: 'Does it.',
    parameters: input,
    needsApproval,
    execute: async () => {
      ran.push(name);
      return `${name} done`;
    },
  });

describe.runIf(SLOW)('an effect before its checkpoint', () => {
  it('hole: a bare DBOS step repeats it after a crash', async () => {
    const database = await createTestDatabase('pglite');
    const program = join(import.meta.dirname, '../../dist/test/holes/bare-program.js');
    const effects = join(dir, 'effects');
    const { DATABASE_URL: _url, ...inherited } = process.env;
    const env = { ...inherited, HOLDFAST_DATA_DIR: database.options.dataDir, EFFECTS_FILE: effects };
    expect(spawnSync(process.execPath, [program], { env: { ...env, DIES: '1' } }).signal).toBe('SIGKILL');
    const second = spawnSync(process.execPath, [program], { env, encoding: 'utf8' });
    expect(second.status, second.stderr).toBe(0);
    expect(readFileSync(effects, 'utf8')).toBe('paid\npaid\n');
    await database.drop();
  });
  // Holdfast: every cell `pay:after` and `transfer:after` of the crash matrix.
});

describe.runIf(SLOW)('a saved RunState', () => {
  const agentOf = (ran: string[]) =>
    new Agent({ name: 'A', model: scripted([[call('pay', {})]]), tools: [plainTool('pay', ran, true)] });

  it('hole: resumed twice it runs the approved tool twice', async () => {
    const ran: string[] = [];
    const agent = agentOf(ran);
    const runner = new Runner({ tracingDisabled: true });
    const paused = await runner.run(agent, 'go');
    const saved = paused.state.toString();
    for (let resumed = 0; resumed < 2; resumed++) {
      const state = await RunState.fromString(agent, saved);
      for (const item of state.getInterruptions()) state.approve(item);
      await runner.run(agent, state);
    }
    expect(ran).toEqual(['pay', 'pay']);
  });

  it('a run: the same decision twice, and a restart, run it once', async () => {
    const ran: string[] = [];
    const t = await openTestEngine('pglite', {
      agents: [defineAgent({ agent: agentOf(ran), grants: ['tool:call:pay'] })],
    });
    const paused = await runToRest(t.engine, 'A');
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'approve' });
    expect(done).toMatchObject({ status: 'completed', output: 'call_pay=pay done' });
    const id = paused.interruptions[0] ?? '';
    await t.engine.decide(id, { verdict: 'approve' }, { actor: 'bob', role: 'approver', tenant: 'default' });
    await t.restart();
    expect(ran).toEqual(['pay']);
    await t.close();
  });
});

describe.runIf(SLOW)('parallel calls', () => {
  it('hole: bare steps of one name that are reached in another order on replay swap their results', async () => {
    const database = await createTestDatabase('pglite');
    const opened = await openDatabase(database.options);
    let replay = false;
    const search = (what: string) => DBOS.runStep(async () => `found ${what}`, { name: 'tool:search' });
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const both = DBOS.registerWorkflow(
      async () => {
        // What an async approval callback does: the order in which the calls start is that of its answers.
        const first = wait(replay ? 60 : 1).then(() => search('a'));
        const second = wait(30).then(() => search('b'));
        const found = await Promise.all([first, second]);
        if (!replay) throw new Error('stopped before it ended');
        return found;
      },
      { name: 'both' },
    );
    DBOS.setConfig({
      ...{ name: 'bare', systemDatabaseUrl: opened.url, systemDatabasePool: opened.pool },
      ...{ applicationVersion: '1', executorID: 'bare', logLevel: 'error' },
    });
    await DBOS.launch();
    await expect((await DBOS.startWorkflow(both, { workflowID: 'w' })()).getResult()).rejects.toThrow('stopped');
    replay = true;
    const again = await DBOS.forkWorkflow<string[]>('w', 2);
    expect(await again.getResult()).toEqual(['found b', 'found a']);
    await DBOS.shutdown({ deregister: true });
    await opened.close();
    await database.drop();
  });
  // Holdfast: calls are judged before any starts and start in the model's order (tools-and-grants.test.ts, crash matrix).
});

describe.runIf(SLOW)('a denied call', () => {
  it('hole: the SDK runs every tool that the model asks for', async () => {
    const ran: string[] = [];
    const agent = new Agent({
      name: 'A',
      model: scripted([[call('wipe', {})]]),
      tools: [plainTool('wipe', ran, false)],
    });
    await new Runner({ tracingDisabled: true }).run(agent, 'go');
    expect(ran).toEqual(['wipe']);
  });

  it('a run: nothing without a grant, the one that asks', async () => {
    const ran: string[] = [];
    const wipe = defineTool({
      ...{ name: 'wipe', description: 'Wipes.', input, output: z.string() },
      execute: () => {
        ran.push('wipe');
        return 'wiped';
      },
    });
    const eager = functionModel('eager', ({ input: said }) =>
      resultsIn(said).some(({ callId }) => callId === 'w') ? [say('done')] : [call('wipe', {}, 'w')],
    );
    const inner = new Agent({ name: 'inner', model: eager, tools: [wipe] });
    const outer = new Agent({
      name: 'outer',
      model: scripted([[call('transfer_to_inner', {}, 'h')]]),
      handoffs: [inner],
    });
    const nested = new Agent({
      name: 'nested',
      model: scripted([[call('ask_inner', { input: 'do it' }, 'n')]]),
      tools: [inner.asTool({ toolName: 'ask_inner', toolDescription: 'Asks.' })],
    });
    const t = await openTestEngine('pglite', {
      agents: [defineAgent({ agent: outer }), defineAgent({ agent: nested, grants: ['tool:call:ask_inner'] })],
    });
    expect(await runToRest(t.engine, 'outer')).toMatchObject({
      status: 'failed',
      error: { code: 'capability_denied' },
    });
    await runToRest(t.engine, 'nested');
    expect(ran).toEqual([]);
    await t.close();
  });
});
