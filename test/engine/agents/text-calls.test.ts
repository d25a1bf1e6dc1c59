import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { registerAgents } from '../../../src/engine/agents/agent-registry.js';
import { defineAgent, defineTool, functionModel, miniSweScaffold, type Scaffold } from '../../../src/index.js';
import { commandsIn } from '../../../src/tools/swe/mini-swe-text.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, decideAndRest, engineFor, eventsOf, runToRest } from '../../harness/engine.js';
import { say } from '../../harness/script.js';

/** Models that know no tools: a scaffold reads in their text what is to be called. */

const executed: string[] = [];
const add = defineTool({
  ...{ name: 'add', description: 'Adds.', input: z.object({ a: z.int(), b: z.int() }), output: z.int() },
  approval: ({ a }) => a > 100,
  execute: ({ a, b }) => {
    executed.push(`${a}+${b}`);
    return a + b;
  },
});

const LINE = /^ADD (\d+) (\d+)$/;
let broken = false;
const byText: Scaffold = {
  ...{ name: 'by-text', version: '1', tools: () => [add], grants: () => ['tool:call:add'] },
  read: (text) => {
    if (broken) throw new Error('cannot read');
    return text.split('\n').flatMap((line) => {
      const [, a, b] = LINE.exec(line) ?? [];
      return a === undefined ? [] : [{ tool: 'add', arguments: { a: Number(a), b: Number(b) } }];
    });
  },
  history: (items) =>
    items.flatMap((item) => {
      if (item['type'] === 'function_call') return [];
      if (item['type'] !== 'function_call_result') return [item];
      const { text } = item['output'] as { text: string };
      return [{ role: 'user', content: `It is ${text}.` }];
    }),
};

const asked: { tools: number; last: unknown }[] = [];
const speaker = (name: string, texts: readonly string[], scaffold: Scaffold = byText, grants = ['tool:call:add']) =>
  defineAgent({
    agent: new Agent({
      name,
      model: functionModel(name, async ({ tools, input }) => {
        const said = Array.isArray(input) ? input : [];
        const turn = said.filter((item) => 'role' in item && item.role === 'assistant').length;
        asked.push({ tools: tools.length, last: said.at(-1) });
        return [say(texts[turn] ?? 'Enough.')];
      }),
    }),
    ...{ scaffold, grants, maxTurns: 4 },
  });

describeEachDatabase('calls in texts', (kind) => {
  const test = engineFor(kind, {
    agents: [
      speaker('adds', ['I add.\nADD 1 2\nADD 3 4', 'ADD 500 1', 'All done.']),
      speaker('other', ['ADD 1 1', 'Done.'], { ...byText, read: () => [{ tool: 'rm', arguments: {} }] }),
      speaker('wrong', ['ADD 1 1'], { ...byText, read: () => [{ tool: 'add' }] as never }),
    ],
  });

  it('are checked, approved, executed once and recorded like calls of any model', async () => {
    asked.length = 0;
    executed.length = 0;
    const { id, status } = await runToRest(test.engine, 'adds');
    expect(status).toBe('paused');
    expect(await decideAndRest(test.engine, id, { verdict: 'approve' }, BOB)).toMatchObject({
      ...{ status: 'completed', output: 'All done.' },
    });
    expect(executed.toSorted()).toEqual(['1+2', '3+4', '500+1']);
    expect(asked).toEqual([
      { tools: 0, last: expect.objectContaining({ role: 'user' }) },
      { tools: 0, last: { role: 'user', content: 'It is 7.' } },
      { tools: 0, last: { role: 'user', content: 'It is 501.' } },
    ]);
    const [first] = await eventsOf(test.engine, id, 'model.responded');
    expect(first?.data).toMatchObject({
      output: [
        { type: 'message' },
        { type: 'function_call', name: 'add', callId: 'call_1_1', arguments: '{"a":1,"b":2}' },
        { type: 'function_call', name: 'add', callId: 'call_1_2' },
      ],
    });
    expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
    expect(await test.engine.replayRun(id, {}, ADMIN)).toMatchObject({ differences: [] });
    const { steps } = await test.engine.getTrajectory(id, ADMIN);
    expect(JSON.stringify(steps)).toContain('ADD 500 1');
  });

  it('of a tool that is not there are answered like those of any model', async () => {
    const { id } = await runToRest(test.engine, 'other');
    const ended = await test.engine.getRun(id, ADMIN);
    expect(['failed', 'completed']).toContain(ended.status);
    expect(executed).not.toContain('1+1');
  });

  it('end the run by name where the scaffold gives none, or throws', async () => {
    expect(await runToRest(test.engine, 'wrong')).toMatchObject({
      ...{
        status: 'failed',
        error: { code: 'scaffold_failed', message: expect.stringContaining('read of the scaffold') },
      },
    });
    broken = true;
    try {
      expect(await runToRest(test.engine, 'adds')).toMatchObject({
        ...{ status: 'failed', error: { code: 'scaffold_failed', message: expect.stringContaining('cannot read') } },
      });
    } finally {
      broken = false;
    }
  });
});

it('a scaffold that reads texts and shows no results is refused', () => {
  const { history: _, ...without } = byText;
  const agent = new Agent({ name: 'x', model: 'openai/gpt-5-mini' });
  const declared = defineAgent({ agent, scaffold: without, grants: ['tool:call:add'] });
  expect(() => registerAgents({ agents: [declared] })).toThrow('has no history to show their results in');
});

it('code blocks are read line by line, in time that grows with the text alone', () => {
  expect(commandsIn('THOUGHT: look\n\n```bash\nls -la\ncat a\n```\n', 'bash')).toEqual(['ls -la\ncat a']);
  expect(commandsIn('```bash  \nls\n```  ', 'bash')).toEqual(['ls']);
  expect(commandsIn('```python\nprint(1)\n```', 'bash')).toEqual([]);
  expect(commandsIn('```bash\nls', 'bash')).toEqual([]);
  expect(commandsIn('```bash\n\n```\n```bash\na\n```\n```bash\nb\n```', 'bash')).toEqual(['a', 'b']);
  expect(commandsIn('```bash\n'.repeat(200_000), 'bash')).toEqual([]);
});

it.each([{ language: 'Bash!' }, { outputChars: 1 }, { task: 'x' }, { other: 1 }])(
  'options %j are refused',
  (options) => {
    expect(() => miniSweScaffold(options as never)).toThrow(expect.objectContaining({ code: 'agent_invalid' }));
  },
);
