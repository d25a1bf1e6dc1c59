import { Agent } from '@openai/agents';
import { z } from 'zod';
import { registerAgents } from '../../src/engine/agents/agent-registry.js';
import {
  defineAgent,
  definePlan,
  defineTool,
  type Engine,
  functionModel,
  type HoldfastConfig,
} from '../../src/index.js';
import { say } from '../harness/script.js';
import { approversOf, REVIEWER } from './careful-person.js';
import { place } from './place.js';
import type { Scenario } from './scenario.js';

/** A patch of an agent: proposed, tried, decided by two, applied, given to all runs, and taken back; each once, in this order. */
const model = functionModel('greeter', async ({ systemInstructions }) => {
  place('clerk:model');
  return [say(systemInstructions?.includes('please') === true ? 'please wait' : 'wait')];
});
const agent = defineAgent({
  agent: new Agent({ name: 'clerk', instructions: 'Answer.', model }),
  grants: ['tool:call:look'],
});
const greet = defineTool({
  ...{
    name: 'greet',
    description: 'Greets.',
    effect: 'pure',
    input: z.object({ word: z.string() }),
    output: z.string(),
  },
  execute: ({ word }) => {
    place('clerk:tool');
    return word;
  },
});
const plan = definePlan({
  ...{ name: 'clerk', tools: [greet], grants: ['tool:call:greet'] },
  plan: {
    nodes: { greet: { type: 'tool', tool: 'greet', arguments: { word: 'wait' } } },
    output: { $from: '/nodes/greet' },
  },
});

const OTHER = { ...REVIEWER, actor: 'second reviewer' };
const liveShare = async (engine: Engine): Promise<number | null> => {
  const [version] = (await engine.getEvolution('clerk', REVIEWER)).versions;
  return version?.status === 'live' ? version.share : null;
};
const answerOf = async (engine: Engine, key: string): Promise<unknown> => {
  const { id } = await engine.startRun({ agent: 'clerk', input: 'order' }, REVIEWER, key);
  for (;;) {
    const run = await engine.getRun(id, REVIEWER, { waitMs: 1000 });
    if (run.status === 'completed') return run.output;
    if (run.status === 'failed') throw new Error(`${key}: ${run.error?.message}`);
  }
};

/** What is patched, and how. */
interface Patched {
  readonly clerk: HoldfastConfig['agents'][number];
  readonly patch: { readonly op: 'replace'; readonly path: string; readonly value: string };
  readonly trialGrants: readonly string[];
  /** An instant at which it works. */
  readonly works: string;
  readonly statements: number;
}

const hashOf = (clerk: Patched['clerk']): string =>
  registerAgents({ agents: [clerk] }).get('clerk')?.definitionHash ?? '';

const scenarioOf = ({ clerk, patch, trialGrants, works, statements }: Patched): Scenario => ({
  agent: 'evolve',
  config: { agents: [clerk], evolution: { agents: ['clerk'], approvals: 2, trialGrants } },
  input: JSON.stringify({
    ...{ agent: 'clerk', base: hashOf(clerk), reason: 'Be polite.', share: 1 },
    patch: [patch],
    cases: [{ input: 'a', expect: { contains: 'please' } }],
  }),
  decide: async (engine, item) => {
    if (item.tool !== 'apply_patch') return false;
    for (const one of approversOf(item)) {
      place(`${one.actor}:deciding`);
      await engine.decide(item.id, { verdict: 'approve', digest: item.digest }, one);
      place(`${one.actor}:decided`);
    }
    return true;
  },
  afterwards: async (engine) => {
    place('applied');
    const share = await liveShare(engine);
    if (share !== null && share < 100) await engine.rolloutAgent('clerk', { share: 100 }, OTHER);
    place('widened');
    if (share !== null) {
      const answer = await answerOf(engine, 'under the version');
      if (answer !== 'please wait') throw new Error(`a run under the version says ${JSON.stringify(answer)}`);
      place('answered');
      await engine.rollbackAgent('clerk', { reason: 'Enough.' }, OTHER);
    }
    place('rolled back');
    const answer = await answerOf(engine, 'after the version');
    if (answer !== 'wait') throw new Error(`a run after the version says ${JSON.stringify(answer)}`);
  },
  // Ids of the runs that a trial starts are new in each copy; `check` counts them.
  reports: (agent) => agent === 'evolve',
  isRacing: true,
  places: [
    ...[works, 'second reviewer:deciding', 'second reviewer:decided', 'third reviewer:deciding'],
    ...['third reviewer:decided', 'applied', 'widened', 'answered', 'rolled back'],
  ],
  around: [
    { when: 'before', text: 'insert into "holdfast"."agent_versions"' },
    { when: 'after', text: 'insert into "holdfast"."agent_versions"' },
    { when: 'after', text: 'update "holdfast"."agent_versions" set "report"' },
    { when: 'sent', text: '"measure" = $', commit: true },
    { when: 'after', text: '"measure" = $', commit: true },
    { when: 'after', text: 'set "share" = $', commit: true },
    { when: 'after', text: '"reason" = $', commit: true },
  ],
  exactly: {},
  statements,
  check: async (knex) => {
    const versions: object[] = await knex('holdfast.agent_versions').select('status', 'share', 'reason', 'actor');
    const changes: { data: string }[] = await knex('holdfast.system_events')
      .where({ kind: 'agent.version_changed' })
      .orderBy('id')
      .select('data');
    const runs: { output: string; count: number }[] = await knex('holdfast.runs')
      .where({ agent: 'clerk', status: 'completed' })
      .groupBy('output')
      .orderBy('output')
      .select('output', knex.raw('count(*)::int as count'));
    const found = {
      versions,
      changes: changes.map(({ data }) => {
        const { status, share } = JSON.parse(data);
        return `${status} ${share}`;
      }),
      runs: runs.map(({ output, count }) => `${count} ${output}`),
    };
    const expected = {
      versions: [{ status: 'rolled_back', share: 0, reason: 'Enough.', actor: 'second reviewer' }],
      changes: ['live 1', 'live 100', 'rolled_back 0'],
      runs: ['2 "please wait"', '2 "wait"'],
    };
    if (JSON.stringify(found) !== JSON.stringify(expected))
      throw new Error(`found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
  },
});

export const evolution = scenarioOf({
  ...{ clerk: agent, trialGrants: [], works: 'clerk:model', statements: 270 },
  patch: { op: 'replace', path: '/instructions', value: 'Say please.' },
});

/** The same of a plan, whose runs make calls. */
export const planEvolution = scenarioOf({
  ...{ clerk: plan, trialGrants: ['tool:call:greet'], works: 'clerk:tool', statements: 320 },
  patch: { op: 'replace', path: '/plan/nodes/greet/arguments/word', value: 'please wait' },
});
