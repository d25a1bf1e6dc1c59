import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { atifOf } from '../../src/core/exports/atif.js';
import { chatOf, chatOptions, chatTools, shareGptOf } from '../../src/core/exports/chat-row.js';
import { exportOptions } from '../../src/core/exports/export.js';
import { type ExportedRun, exportRows } from '../../src/core/exports/export-row.js';
import { threadsOf } from '../../src/core/exports/thread.js';
import { toJson } from '../../src/core/json.js';
import { atifProblems } from './atif-schema.js';
import { callsIn, rendered } from './chat-template.js';
import { familyOf, goldenLogs } from './golden-runs.js';

/** The golden logs in every format: the formats are read as their consumers read them. */

const GOLDEN = join(import.meta.dirname, '../golden/exports-v1.json');
const families = goldenLogs().flatMap((events) => familyOf(events) ?? []);
const threads = families.flatMap(({ conversation, prompts }) => threadsOf(conversation, prompts));
const defaults = chatOptions.parse({});
const NO_SCORES = { quality: null, diversity: null };

it('the field of thoughts has a name that no program reads as another one', () => {
  for (const reasoningKey of ['content', 'tool_calls', '__proto__', 'a b'])
    expect(chatOptions.safeParse({ reasoningKey }).success, reasoningKey).toBe(false);
  expect(chatOptions.safeParse({ reasoningKey: 'thinking' }).success).toBe(true);
});

const byAgent = (agent: string) => {
  const found = families.filter(({ conversation }) => conversation.run.agent === agent);
  return found.map((family) => threadsOf(family.conversation, family.prompts)[0]);
};

describe('ATIF', () => {
  it('is what its schema allows, for every run', () => {
    expect(families.length).toBeGreaterThan(8);
    for (const family of families) expect(atifProblems(toJson(atifOf(family)))).toEqual([]);
  });

  it('is refused by the schema and the rules where it is none', () => {
    const [family] = families;
    const good = JSON.stringify(atifOf(family ?? fail()));
    const bad = (change: (document: Record<string, never>) => unknown) => {
      const document = JSON.parse(good);
      change(document);
      return atifProblems(document);
    };
    const cases: ((document: { [key: string]: never } & { steps: Record<string, unknown>[] }) => unknown)[] = [
      (d) => Object.assign(d, { reward: 1 }),
      (d) => Object.assign(d.steps[1] ?? {}, { step_id: 7 }),
      (d) => Object.assign(d.steps[0] ?? {}, { message: null }),
      (d) => Object.assign(d.steps[0] ?? {}, { metrics: { prompt_tokens: 1 } }),
      (d) =>
        Object.assign(d.steps[1] ?? {}, { tool_calls: [{ tool_call_id: 'x', function_name: 'f', arguments: '{}' }] }),
      (d) => Object.assign(d.steps[1] ?? {}, { observation: { results: [{ source_call_id: 'of another' }] } }),
      (d) => Object.assign(d.steps[1] ?? {}, { source: 'tool' }),
    ];
    for (const change of cases) expect(bad(change as never)).not.toEqual([]);
  });

  it('says what was decided of a call, what was asked in the first place, and what became of it', () => {
    const signer = families.find(({ conversation }) => conversation.run.agent === 'signer');
    const steps = atifOf(signer ?? fail())?.steps ?? [];
    const [edited, approved, rejected] = steps.flatMap(({ tool_calls }) => tool_calls ?? []);
    expect(edited).toMatchObject({
      arguments: { cents: 3 },
      extra: { decision: 'ask', asked_arguments: { cents: 1 } },
    });
    expect(approved).toMatchObject({ arguments: { cents: 2 }, extra: { decision: 'allow' } });
    expect(approved?.extra).not.toHaveProperty('asked_arguments');
    expect(rejected).toMatchObject({ tool_call_id: 'c3' });
    const results = steps.flatMap(({ observation }) => observation?.results ?? []);
    expect(results.at(-1)).toEqual({
      source_call_id: 'c3',
      content: 'enough',
      extra: { outcome: 'refused', refused: 'rejected' },
    });
    expect(steps.at(-1)?.extra).toMatchObject({ done: true });
  });
});

describe('chat messages', () => {
  it('keep every call, argument and result when a template renders them', () => {
    let calls = 0;
    for (const thread of threads) {
      const { messages } = chatOf(thread, defaults);
      const tools = chatTools(thread.tools);
      const text = rendered(messages, tools);
      const asked = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
      expect(callsIn(text)).toEqual(
        asked.map(({ function: { name, arguments: args } }) => ({ name, arguments: args })),
      );
      for (const message of messages) expect(text).toContain(message.content);
      for (const { function: tool } of tools) expect(text).toContain(tool.name);
      calls += asked.length;
    }
    expect(calls).toBeGreaterThan(10);
  });

  it('are written by the options', () => {
    const [thread] = byAgent('payer');
    if (thread === undefined) return fail();
    const plain = chatOf(thread, defaults).messages;
    const parallel = plain.find((message) => message.role === 'assistant' && (message.tool_calls ?? []).length === 2);
    expect(parallel).toMatchObject({ content: '', tool_calls: [{ function: { arguments: { cents: 50 } } }, {}] });

    const split = chatOf(thread, { ...defaults, splitParallel: true }).messages;
    for (const message of split)
      if (message.role === 'assistant') expect((message.tool_calls ?? []).length).toBeLessThan(2);
    expect(split.filter(({ role }) => role === 'tool')).toHaveLength(
      plain.filter(({ role }) => role === 'tool').length,
    );
    for (const [index, message] of split.entries()) {
      const before = split[index - 1];
      if (message.role !== 'tool' || before?.role !== 'assistant') continue;
      expect(before.tool_calls?.[0]?.id).toBe(message.tool_call_id);
    }

    const text = chatOf(thread, { ...defaults, arguments: 'string' }).messages;
    expect(text).toContainEqual(
      expect.objectContaining({
        tool_calls: [expect.objectContaining({ function: { name: 'pay', arguments: '{"cents":500}' } })],
      }),
    );
    expect(shareGptOf(plain).map(({ from }) => from)).toEqual(
      plain.map(({ role }) => ({ system: 'system', user: 'human', assistant: 'gpt', tool: 'tool' })[role]),
    );
  });

  it('say what was said before a fork as context, and leave out what failed', () => {
    expect(byAgent('mute')).toEqual([undefined, undefined]);
    const [greeter] = byAgent('greeter');
    expect(greeter).toMatchObject({ context: 0 });
    expect(chatOf(greeter ?? fail(), defaults).messages).toEqual([
      { role: 'user', content: 'Hello.' },
      { role: 'assistant', content: 'Good morning.' },
    ]);
  });
});

it('the golden logs are exported as they always were', () => {
  const options = exportOptions.parse({});
  const worth: ExportedRun['worth'] = {
    ...{ totalReward: 0.5, verificationPassed: true, tags: ['a'], scaffold: 'holdfast' },
    result: { type: 'success', reward: 0.5 },
  };
  const made = families.flatMap((family) =>
    (['messages', 'prime-rl', 'sharegpt', 'atif'] as const).map((format) => ({
      run: family.conversation.run.id,
      format,
      rows: exportRows({ family, task: 'task', worth, scores: NO_SCORES, trajectory: null }, format, options),
    })),
  );
  if (process.env['HOLDFAST_WRITE_GOLDEN'] === '1') writeGolden(made);
  expect(toJson(made)).toEqual(JSON.parse(readFileSync(GOLDEN, 'utf8')));
});

function writeGolden(made: unknown): void {
  writeFileSync(GOLDEN, `${JSON.stringify(made, null, 1)}\n`);
}

function fail(): never {
  throw new Error('it is not there');
}
