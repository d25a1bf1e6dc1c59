import { expect, it } from 'vitest';
import { z } from 'zod';
import { exportFilters, exportOptions } from '../../src/core/exports/export.js';
import { type ExportedRun, exportRows, isWanted } from '../../src/core/exports/export-row.js';
import { miniTrajectory } from '../../src/core/exports/mini-swe-agent.js';
import { openhandsEvents } from '../../src/core/exports/openhands-events.js';
import { threadsOf } from '../../src/core/exports/thread.js';
import { familyOf, goldenLogs } from './golden-runs.js';

/** The golden logs as files of other agents, in the shape of the documentation of these. */

const families = goldenLogs().flatMap((events) => familyOf(events) ?? []);
const worth: ExportedRun['worth'] = {
  ...{ totalReward: 0.5, verificationPassed: true, tags: ['a'], scaffold: 'holdfast' },
  result: { type: 'success', reward: 0.5 },
};
const runs: readonly ExportedRun[] = families.map((family) => ({
  ...{ family, task: 'task', worth, scores: { quality: 0.9, diversity: null }, trajectory: null },
}));
const rows = (format: 'mini-swe-agent' | 'openhands') =>
  runs.flatMap((run) => exportRows(run, format, exportOptions.parse({})).map(({ columns }) => columns));

const call = z.strictObject({
  ...{ id: z.string(), type: z.literal('function') },
  function: z.strictObject({ name: z.string(), arguments: z.string() }),
});
const at = z.strictObject({ timestamp: z.number() });
const miniMessage = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: z.string(), extra: at.optional() }),
  z.strictObject({ role: z.literal('user'), content: z.string(), extra: at }),
  z.strictObject({
    ...{ role: z.literal('assistant'), content: z.string(), reasoning_content: z.string().optional() },
    tool_calls: z.array(call).min(1).optional(),
    extra: z.looseObject({
      actions: z.array(z.strictObject({ command: z.string(), tool_call_id: z.string() })),
      ...{ cost: z.number().optional(), timestamp: z.number() },
    }),
  }),
  z.strictObject({
    ...{ role: z.literal('tool'), tool_call_id: z.string(), content: z.string() },
    extra: z.strictObject({
      ...{ raw_output: z.string(), returncode: z.int().nullable(), timestamp: z.number() },
      exception_info: z.string().nullable(),
    }),
  }),
  z.strictObject({
    ...{ role: z.literal('exit'), content: z.string() },
    extra: z.strictObject({ exit_status: z.string(), submission: z.string() }),
  }),
]);
const mini = z.strictObject({
  info: z.strictObject({
    model_stats: z.strictObject({ instance_cost: z.number(), api_calls: z.int() }),
    config: z.looseObject({ agent_type: z.string() }),
    ...{ exit_status: z.string(), submission: z.string() },
  }),
  messages: z.array(miniMessage).min(2),
  trajectory_format: z.literal('mini-swe-agent-1.1'),
});

it('mini-swe-agent: each answer, its calls and what came of them, and how it ended', () => {
  const documents = rows('mini-swe-agent').map(({ trajectory }) => mini.parse(trajectory));
  expect(documents.length).toBeGreaterThan(8);
  for (const { messages, info } of documents) {
    expect(messages.filter(({ role }) => role === 'exit')).toHaveLength(1);
    expect(messages.at(-1)).toMatchObject({ role: 'exit', extra: { exit_status: info.exit_status } });
    const asked = new Set(
      messages.flatMap((one) => (one.role === 'assistant' ? (one.tool_calls ?? []) : [])).map(({ id }) => id),
    );
    for (const one of messages) if (one.role === 'tool') expect(asked).toContain(one.tool_call_id);
  }
  const ends = new Set(documents.map(({ info }) => info.exit_status));
  expect(ends).toContain('Submitted');
});

const text = z.array(z.strictObject({ type: z.literal('text'), text: z.string(), cache_prompt: z.boolean() }));
const head = { id: z.string().min(1), timestamp: z.iso.datetime(), source: z.enum(['agent', 'user', 'environment']) };
const of = { tool_name: z.string(), tool_call_id: z.string() };
const event = z.discriminatedUnion('kind', [
  z.strictObject({
    ...head,
    kind: z.literal('SystemPromptEvent'),
    system_prompt: text.element,
    tools: z.array(z.unknown()),
  }),
  z.strictObject({
    ...{ ...head, kind: z.literal('MessageEvent') },
    llm_message: z.strictObject({ role: z.string(), content: text, reasoning_content: z.string().optional() }),
    ...{ llm_response_id: z.string().optional(), activated_skills: z.array(z.string()), extended_content: text },
  }),
  z.strictObject({
    ...{ ...head, ...of, kind: z.literal('ActionEvent'), thought: text, thinking_blocks: z.array(z.unknown()) },
    ...{ reasoning_content: z.string().nullable(), security_risk: z.literal('UNKNOWN'), llm_response_id: z.string() },
    action: z.strictObject({ kind: z.string(), data: z.record(z.string(), z.unknown()) }),
    tool_call: z.strictObject({
      id: z.string(),
      name: z.string(),
      arguments: z.string(),
      origin: z.literal('completion'),
    }),
  }),
  z.strictObject({
    ...{ ...head, ...of, kind: z.literal('ObservationEvent'), action_id: z.string().min(1), extended_content: text },
    observation: z.strictObject({ kind: z.string(), content: text, is_error: z.boolean(), tool_name: z.string() }),
  }),
  z.strictObject({
    ...{ ...head, ...of, kind: z.literal('UserRejectObservation'), action_id: z.string().min(1) },
    ...{ rejection_reason: z.string(), rejection_source: z.enum(['user', 'hook']) },
  }),
  z.strictObject({ ...head, ...of, kind: z.literal('AgentErrorEvent'), error: z.string() }),
]);

it('OpenHands: events with ids of their own, and each result refers to its action', () => {
  const conversations = rows('openhands').map(({ events }) => z.array(event).min(1).parse(events));
  expect(conversations.length).toBeGreaterThan(8);
  const kinds = new Set<string>();
  for (const events of conversations) {
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    const actions = new Map(events.flatMap((one) => (one.kind === 'ActionEvent' ? [[one.id, one.tool_call_id]] : [])));
    for (const one of events) {
      kinds.add(one.kind);
      if (one.kind === 'ObservationEvent' || one.kind === 'UserRejectObservation')
        expect(actions.get(one.action_id)).toBe(one.tool_call_id);
    }
  }
  expect([...kinds].sort()).toEqual([
    ...['ActionEvent', 'AgentErrorEvent', 'MessageEvent', 'ObservationEvent', 'UserRejectObservation'],
  ]);
});

it('OpenHands: messages of a conversation that a run goes on with have ids of their own, too', () => {
  const threads = families.flatMap((one) => threadsOf(one.conversation, one.prompts));
  const thread = threads.find(({ messages }) => messages.filter(({ role }) => role === 'tool').length > 1);
  if (thread === undefined) throw new Error('there are golden runs with calls');
  // The first event of a log has all of them.
  const messages = thread.messages.map((message) => ({ ...message, seq: 1 }));
  const events = z.array(event).parse(openhandsEvents({ ...thread, messages }, 'run_1'));
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  const actions = new Map(events.flatMap((one) => (one.kind === 'ActionEvent' ? [[one.id, one.tool_call_id]] : [])));
  const seen = events.filter((one) => one.kind === 'ObservationEvent');
  expect(seen.length).toBeGreaterThan(0);
  for (const one of seen) expect(actions.get(one.action_id)).toBe(one.tool_call_id);
});

it('both begin with what the agent was told', () => {
  const [family] = families;
  const [thread] = family === undefined ? [] : threadsOf(family.conversation, family.prompts);
  if (family === undefined || thread === undefined) throw new Error('there are golden runs');
  const told = { ...thread, system: 'Be brief.' };
  const [first] = openhandsEvents(told, 'run_1');
  expect(event.parse(first)).toMatchObject({ kind: 'SystemPromptEvent', system_prompt: { text: 'Be brief.' } });
  const { messages } = mini.parse(miniTrajectory(told, family.conversation));
  expect(messages[0]).toEqual({ role: 'system', content: 'Be brief.' });
});

it('filters know the scores of a run; one without a score is in no range', () => {
  const [run] = runs;
  if (run === undefined) throw new Error('there are golden runs');
  const wanted = (filters: object) => isWanted(run, exportFilters.parse(filters));
  expect([wanted({ minQuality: 0.9 }), wanted({ minQuality: 0.91 }), wanted({ maxQuality: 0.8 })]).toEqual([
    true,
    false,
    false,
  ]);
  expect([wanted({ minDiversity: 0 }), wanted({ maxDiversity: 1 })]).toEqual([false, false]);
});
