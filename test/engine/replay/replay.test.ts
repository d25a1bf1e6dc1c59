import { Agent, type AgentInputItem, handoff, tool } from '@openai/agents';
import type { Knex } from 'knex';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { checkTools } from '../../../src/cli/doctor/check-database.js';
import type { ReplayReport } from '../../../src/core/replay/replay.js';
import { type Caller, defineAgent, defineTool, type EngineConfig, functionModel, waitFor } from '../../../src/index.js';
import { describeEachDatabase, describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, engineFor, restOf, runToRest } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';
import { config, decideAll, did, NAMES } from '../integrity/every-kind.js';

const SAME = { result: 'same', whole: true, differences: [], moreDifferences: 0, reason: null };

/** What is stored of runs, table by table. */
async function stored(knex: Knex): Promise<Record<string, unknown[]>> {
  const tables = [
    'runs',
    'events',
    'run_heads',
    'calls',
    'snapshots',
    'interruptions',
    'decisions',
    'timers',
    'charges',
  ];
  const rows: Record<string, unknown[]> = {};
  for (const table of tables) rows[table] = (await knex(`holdfast.${table}`)).map((row) => JSON.stringify(row)).sort();
  return rows;
}

const HISTORY: AgentInputItem[] = [
  { type: 'message', role: 'user', content: 'Hello.' },
  { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Good day.' }] },
];

describeEachDatabaseSlowly('a replay of runs of every kind', (kind) => {
  const t = engineFor(kind, config);
  beforeEach(() => {
    did.length = 0;
  });

  const everyRun = async () => (await t.engine.listRuns({ limit: 200 }, ADMIN)).items;
  const restOfAll = async () => {
    const working = (await everyRun()).filter(({ status }) => status === 'queued' || status === 'running');
    for (const { id } of working) await restOf(t.engine, id);
    if (working.length > 0) await restOfAll();
  };
  const replayAll = async () => {
    const reports: [string, ReplayReport][] = [];
    for (const { id, agent } of await everyRun()) reports.push([agent, await t.engine.replayRun(id, {}, ADMIN)]);
    return reports;
  };

  it('says at every pause and in the end what the log says, and has no effect', { timeout: 300_000 }, async () => {
    await t.engine.openSession('talk', ADMIN).addItems(HISTORY);
    for (const name of NAMES) {
      const session = name === 'talking' ? { sessionId: 'talk' } : {};
      await t.engine.startRun({ agent: name, input: 'go', ...session }, ADMIN);
    }
    for (let pauses = 0; pauses < 12; pauses++) {
      await restOfAll();
      const done = did.length;
      const before = await t.between(stored);
      for (const [agent, report] of await replayAll()) expect(report, agent).toMatchObject(SAME);
      expect(did.length).toBe(done);
      expect(await t.between(stored)).toEqual(before);
      if ((await everyRun()).every(({ status }) => status !== 'paused')) break;
      await decideAll(t.engine);
    }
    const runs = await everyRun();
    expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 'completed'));
    // Forks, of which a part is another run's log, and what comes of them.
    for (const { id } of runs.slice(0, 6)) await t.engine.forkRun(id, { at: 12 }, ADMIN);
    for (let pauses = 0; pauses < 12; pauses++) {
      await restOfAll();
      for (const [agent, report] of await replayAll()) expect(report, agent).toMatchObject(SAME);
      if ((await decideAll(t.engine)) === 0) break;
    }
  });
});

const input = z.object({ n: z.number() });
let effects: string[] = [];
const pay = (changes: object = {}) =>
  defineTool({
    ...{ name: 'pay', description: 'Pays.', input, output: z.string(), effect: 'unsafe' },
    execute: ({ n }) => {
      effects.push(`pay ${n}`);
      return `paid ${n}`;
    },
    ...changes,
  });
const desk = new Agent({ name: 'desk', model: scripted([[call('pay', { n: 2 }, 'b')]]), tools: [pay()] });

interface Today {
  readonly instructions?: string | (() => string);
  readonly tools?: ReturnType<typeof pay>[];
  readonly handoffs?: Agent[];
  readonly grants?: string[];
}

/** An agent that pays, hands over to a desk which pays as well, and says what came of it. */
const clerkIn = ({ instructions, tools, handoffs, grants }: Today = {}): EngineConfig => ({
  agents: [
    defineAgent({
      agent: Agent.create({
        name: 'clerk',
        instructions: instructions ?? 'You pay.',
        model: scripted([[call('pay', { n: 1 }, 'a')], [call('transfer_to_desk', {}, 'h')]]),
        tools: tools ?? [pay()],
        handoffs: handoffs ?? [desk],
      }),
      grants: grants ?? ['tool:call:pay'],
    }),
  ],
});

describeEachDatabase('a replay with agents that were changed', (kind) => {
  const t = engineFor(kind, clerkIn());
  /** What the clerk did as it was. */
  let before: string;
  let done: number;
  beforeAll(async () => {
    effects = [];
    const run = await runToRest(t.engine, 'clerk');
    expect(run.status).toBe('completed');
    before = run.id;
    done = effects.length;
    expect(await t.engine.replayRun(before, {}, ADMIN)).toMatchObject(SAME);
  });

  /** Replays what the clerk did as it was, with it as it is. */
  const replayed = async (today: Today | EngineConfig): Promise<ReplayReport> => {
    await t.restart('agents' in today ? today : clerkIn(today));
    const report = await t.engine.replayRun(before, {}, ADMIN);
    expect(effects.length).toBe(done);
    return report;
  };

  it('names what the model is told otherwise, at each turn, and goes on', async () => {
    const { result, whole, differences } = await replayed({ instructions: 'You pay at once.' });
    expect({ result, whole }).toEqual({ result: 'diverged', whole: true });
    expect(differences.map(({ what, field }) => `${what}${field}`)).toEqual([
      'model.requested of turn 1/inputDigest',
      'model.requested of turn 2/inputDigest',
    ]);
  });

  it('names a tool that is not granted any more', async () => {
    const { differences } = await replayed({ grants: ['tool:call:other'] });
    expect(differences[0]).toMatchObject({
      ...{ what: 'call.checked of pay (a)', field: '/checks/0/effect', expected: 'allow', actual: 'deny' },
    });
    expect(differences.at(-1)).toMatchObject({ actual: expect.stringContaining('capability_denied') });
  });

  it('names arguments that a tool does not take any more, and its version', async () => {
    const changed = pay({ version: '2', input: z.object({ amount: z.number() }) });
    const { differences } = await replayed({ tools: [changed] });
    const named = differences.map(({ what, field, actual }) => [what, field, actual]);
    expect(named).toContainEqual(['call.checked of pay (a)', '/toolVersion', '2']);
    expect(named).toContainEqual(['call.checked of pay (a)', '/decision', 'invalid']);
  });

  it.runIf(SLOW)('names a tool that is gone, a handoff that is gone, and an agent that is gone', async () => {
    const withoutTool = await replayed({ tools: [] });
    expect(withoutTool.differences[0]).toMatchObject({
      ...{ field: '/tools', expected: ['pay', 'transfer_to_desk'], actual: ['transfer_to_desk'] },
    });
    expect(withoutTool.whole).toBe(false);
    const withoutHandoff = await replayed({ handoffs: [] });
    expect(withoutHandoff.differences[0]).toMatchObject({ field: '/tools', actual: ['pay'] });
    expect(withoutHandoff.differences.at(-1)).toMatchObject({ actual: expect.stringContaining('transfer_to_desk') });
    const gone = await replayed({ agents: [defineAgent({ agent: desk, grants: [] })] });
    expect(gone).toMatchObject({ result: 'cannot_replay', reason: { code: 'agent_unknown' } });
  });

  it('names an approval that was not asked for then', async () => {
    const { differences, whole } = await replayed({ tools: [pay({ approval: true })] });
    expect(whole).toBe(false);
    expect(differences[0]).toMatchObject({ field: '/decision', expected: 'allow', actual: 'ask' });
  });

  it('hears no callback, and says what it did not compare', async () => {
    const heard: string[] = [];
    const instructions = () => {
      heard.push('instructions');
      return 'You pay.';
    };
    await t.restart(clerkIn({ instructions }));
    const run = await runToRest(t.engine, 'clerk');
    const before = heard.length;
    const report = await t.engine.replayRun(run.id, {}, ADMIN);
    expect(report).toMatchObject({ ...SAME, notCompared: ['the instructions of clerk, a function'] });
    expect(heard.length).toBe(before);
  });

  it.runIf(SLOW)('looks at no difference before the event that it is told to begin with', async () => {
    await t.restart(clerkIn());
    const run = await runToRest(t.engine, 'clerk');
    await t.restart(clerkIn({ instructions: 'You pay at once.' }));
    const { differences } = await t.engine.replayRun(run.id, {}, ADMIN);
    const second = differences[1]?.seq ?? 0;
    const from = await t.engine.replayRun(run.id, { from: second }, ADMIN);
    expect(from.differences.map(({ seq }) => seq)).toEqual([second]);
    expect(await t.engine.replayRun(run.id, { from: second + 1 }, ADMIN)).toMatchObject(SAME);
    await expect(t.engine.replayRun(run.id, { from: 0 }, ADMIN)).rejects.toMatchObject({ code: 'invalid_request' });
    const beyond = t.engine.replayRun(run.id, { from: from.upTo + 1 }, ADMIN);
    await expect(beyond).rejects.toMatchObject({ code: 'invalid_request', fields: [{ pointer: '/from' }] });
    await expect(t.engine.replayRun('run_none', {}, ADMIN)).rejects.toMatchObject({ code: 'run_unknown' });
  });
});

describeEachDatabaseSlowly('tools that are declared deterministic', (kind) => {
  const output = z.object({ sum: z.number() });
  const sum = (version: string, execute: (n: number) => number) =>
    defineTool({
      ...{ name: 'sum', version, description: 'Adds.', input, output, effect: 'pure', deterministic: true },
      execute: ({ n }) => {
        effects.push(`sum ${n}`);
        return { sum: execute(n) };
      },
    });
  const adder = (execute: (n: number) => number, version = '1', instructions = 'Add.'): EngineConfig => ({
    agents: [
      defineAgent({
        agent: new Agent({
          ...{ name: 'adder', instructions },
          model: scripted([[call('sum', { n: 1 }, 'a'), call('pay', { n: 2 }, 'b')]]),
          tools: [sum(version, execute), pay()],
        }),
        grants: ['tool:call:*'],
      }),
    ],
  });
  const t = engineFor(
    kind,
    adder((n) => n + 1),
  );

  it('are executed again where that is asked for, and marked if they differ', async () => {
    effects = [];
    const { id } = await runToRest(t.engine, 'adder');
    expect(await t.engine.replayRun(id, {}, ADMIN)).toMatchObject({ ...SAME, executed: 0 });
    expect(effects).toEqual(['sum 1', 'pay 2']);
    expect(await t.engine.replayRun(id, { executePure: true }, ADMIN)).toMatchObject({ ...SAME, executed: 1 });
    expect(effects).toEqual(['sum 1', 'pay 2', 'sum 1']);
    await t.restart(adder((n) => n + 2));
    const { differences, result } = await t.engine.replayRun(id, { executePure: true }, ADMIN);
    expect(result).toBe('diverged');
    expect(differences).toMatchObject([
      {
        ...{ what: 'call.finished of sum (a), executed again', field: '/outcome' },
        expected: { type: 'output', output: { sum: 2 } },
        actual: { type: 'output', output: { sum: 3 } },
      },
    ]);
    const mark = { tool: 'sum', toolVersion: '1', runId: id, seq: differences[0]?.seq };
    const marksOf = async (caller: Caller) =>
      (await t.engine.listAgents({ limit: 50 }, caller)).items.map(({ marks }) => marks);
    expect(await marksOf(ADMIN)).toEqual([[mark]]);
    expect(await marksOf({ ...ADMIN, tenant: 'other' })).toEqual([[]]);
    const declared = (toolVersion: string, deterministic = true) => [{ tool: 'sum', toolVersion, deterministic }];
    const said = await t.between((db) => checkTools(db, declared('1')));
    expect(await t.between((db) => checkTools(db, null))).toEqual(said);
    expect(await t.between((db) => checkTools(db, [...declared('2'), ...declared('1', false)]))).toEqual([]);
    await t.restart(adder((n) => n + 2, '1', 'Add at once.'));
    const both = await t.engine.replayRun(id, { executePure: true }, ADMIN);
    expect(both.differences.map(({ what }) => what)).toEqual([
      'model.requested of turn 1',
      'call.finished of sum (a), executed again',
      'model.requested of turn 2',
    ]);
    await t.restart(adder((n) => n + 2, '2'));
    expect(await marksOf(ADMIN)).toEqual([[]]);
    expect(said).toMatchObject([
      {
        status: 'warn',
        detail: expect.stringContaining(`gave something else than event ${differences[0]?.seq} of ${id}`),
      },
    ]);
  });
});

/** Runs that do not end well, and what it is that ends them. */
const trouble = (over: { readonly [name: string]: unknown }) => new Error(JSON.stringify(over));
const failing = functionModel('failing', async () => {
  throw Object.assign(trouble({ message: 'no' }), { status: 401 });
});
const agentOf = (name: string, changes: object, grants: string[] = ['tool:call:*']) =>
  defineAgent({ agent: new Agent({ name, model: scripted([[call('pay', { n: 1 }, 'a')]]), ...changes }), grants });
const slow = defineTool({
  ...{ name: 'pay', description: 'Pays.', input, output: z.string(), effect: 'idempotent' },
  execute: (_input, { signal }) =>
    new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
});
const raises = tool({
  ...{ name: 'pay', description: 'Pays.', parameters: input, errorFunction: null },
  execute: async () => {
    throw new Error('no');
  },
});
const guardrail = { name: 'no', execute: async () => ({ tripwireTriggered: true, outputInfo: 'secret' }) };

const question = defineTool({
  ...{ name: 'question', description: 'Asks.', input, output: z.string() },
  execute: () => waitFor({ kind: 'question', text: 'Which?' }),
});
const no = () => {
  throw new Error('no');
};

const ENDS: EngineConfig = {
  agents: [
    agentOf('model', { model: failing }),
    agentOf('denied', { tools: [pay()] }, []),
    agentOf('raised', { tools: [raises] }),
    agentOf('input', { tools: [pay()], inputGuardrails: [guardrail] }),
    agentOf('output', { tools: [pay()], outputGuardrails: [guardrail] }),
    agentOf('fails', {
      tools: [
        pay({
          onFailure: 'fail',
          execute: () => {
            throw new Error('no');
          },
        }),
      ],
    }),
    agentOf('final', { tools: [pay()], toolUseBehavior: async () => ({ isFinalOutput: true, finalOutput: 'done' }) }),
    agentOf('first', { tools: [pay()], toolUseBehavior: 'stop_on_first_tool' }),
    agentOf('typed', { outputType: z.object({ paid: z.boolean() }), model: scripted([[say('{"paid":true}')]]) }),
    agentOf('untyped', { outputType: z.object({ paid: z.boolean() }), model: scripted([[say('no')]]) }),
    agentOf('handing', {
      model: scripted([[call('transfer_to_desk', {}, 'h')]]),
      handoffs: [handoff(desk, { onHandoff: () => void effects.push('handoff') })],
    }),
    defineAgent({
      agent: new Agent({ name: 'turns', model: scripted([[call('pay', { n: 1 }, 'a')]]), tools: [pay()] }),
      ...{ grants: ['tool:call:*'], maxTurns: 1 },
    }),
    agentOf('slow', { tools: [slow] }),
    agentOf('beside', {
      model: scripted([[call('question', { n: 1 }, 'q'), call('pay', { n: 2 }, 'b')]]),
      tools: [question, pay({ onFailure: 'fail', execute: no })],
    }),
  ],
};

describeEachDatabaseSlowly('a replay of a run that ends otherwise', (kind) => {
  const t = engineFor(kind, ENDS);

  for (const name of ENDS.agents.map((entry) => ('agent' in entry ? entry.agent.name : entry.name))) {
    it(name, async () => {
      effects = [];
      const { id } = await t.engine.startRun({ agent: name, input: 'go' }, ADMIN);
      if (name === 'slow') {
        for await (const event of t.engine.streamEvents(id, { after: 0, signal: new AbortController().signal }, ADMIN))
          if (event.kind === 'call.started') break;
        // While it works: up to where its log goes.
        expect(await t.engine.replayRun(id, {}, ADMIN)).toMatchObject(SAME);
        await t.engine.cancelRun(id, null, ADMIN);
      }
      const run = await restOf(t.engine, id);
      const done = effects.length;
      const report = await t.engine.replayRun(id, {}, ADMIN);
      expect(report, `${run.status} ${JSON.stringify(run.error)} ${JSON.stringify(report.differences)}`).toMatchObject(
        SAME,
      );
      expect(report.upTo).toBe((await t.engine.verifyRun(id, ADMIN)).events);
      expect(effects.length).toBe(done);
    });
  }
});
