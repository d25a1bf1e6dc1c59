import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChatMessage, ChatTool } from '../../src/core/exports/chat-row.js';
import { datasetFields } from '../../src/core/exports/dataset-field.js';
import { exportOptions } from '../../src/core/exports/export.js';
import type { ExportedRun } from '../../src/core/exports/export-row.js';
import { type Attempt, attemptOf, pairRow } from '../../src/core/exports/preference.js';
import { type JsonObject, toJson } from '../../src/core/json.js';
import type { RunEvent } from '../../src/core/log/event.js';
import { defineAgent, functionModel, type StartExport } from '../../src/index.js';
import { describeEachDatabaseSlowly } from '../harness/database.js';
import { ADMIN, engineFor, restOf } from '../harness/engine.js';
import { resultsIn, say } from '../harness/script.js';
import { config } from './agents.js';
import { rendered } from './chat-template.js';
import { ended, rowsIn } from './exported.js';
import { familyOf, goldenLogs } from './golden-runs.js';
import { byDuckdb, byHyparquet, withNulls } from './read-parquet.js';

/** Preference pairs: the golden logs against the same logs with other answers, and real runs with rewards. */

const GOLDEN = join(import.meta.dirname, '../golden/preferences-v1.json');
const options = exportOptions.parse({});

const runOf = (events: readonly RunEvent[], totalReward: number | null): ExportedRun | null => {
  const family = familyOf(events);
  const worth = { result: null, totalReward, verificationPassed: null, tags: [], scaffold: 'holdfast' };
  return family === null
    ? null
    : { family, task: 'task', worth, scores: { quality: null, diversity: null }, trajectory: null };
};

/** The same run, whose models said everything a little otherwise. */
const worse = (events: readonly RunEvent[]): RunEvent[] =>
  events.map((event) => {
    if (event.kind !== 'model.responded') return event;
    const otherwise = (key: string, value: unknown) => (key === 'text' ? `${String(value)}, perhaps` : value);
    return JSON.parse(JSON.stringify(event), otherwise);
  });

const attempts = (events: readonly RunEvent[]): readonly [Attempt, Attempt] | null => {
  const [better, other] = [runOf(events, 1), runOf(worse(events), 0)];
  const both = [better, other].map((run) => (run === null ? null : attemptOf(run, options)));
  const [a, b] = both;
  return a === null || typeof a !== 'object' || b === null || typeof b !== 'object' ? null : [a, b];
};

const pairs = goldenLogs().flatMap((events) => {
  const both = attempts(events);
  // One in which no one said a text is the same twice, and no pair.
  if (both === null || both[0].worth.said === both[1].worth.said) return [];
  return [pairRow(both[0], both[1], 1)];
});

/** What TRL does with a row, which it refuses where the prompt alone is not how prompt and answer begin. */
function renderedSides(row: JsonObject) {
  const { prompt, chosen, rejected, tools } = row as unknown as {
    readonly [side in 'prompt' | 'chosen' | 'rejected']: ChatMessage[];
  } & { readonly tools: ChatTool[] };
  const start = rendered(prompt, tools, { addGenerationPrompt: true });
  return [chosen, rejected].map((answer) => {
    const whole = rendered([...prompt, ...answer], tools);
    expect(whole.startsWith(start)).toBe(true);
    for (const message of answer)
      expect(whole.slice(start.length - '<|im_start|>assistant\n'.length)).toContain(message.content);
    return whole.slice(start.length);
  });
}

describe('a preference pair', () => {
  it('is rendered by a chat template from one prompt to two answers', () => {
    expect(pairs.length).toBeGreaterThan(4);
    for (const { columns } of pairs) {
      const [chosen, rejected] = renderedSides(columns);
      expect(chosen).not.toBe('');
      expect(rejected).not.toBe(chosen);
    }
  });

  it('says which runs it was made of', () => {
    const [pair] = pairs;
    const events = goldenLogs().find(([first]) => first?.runId === pair?.columns['chosen_run_id']);
    expect(pair?.columns).toMatchObject({
      rejected_run_id: events?.[0]?.runId,
      chosen_head_hash: events?.at(-1)?.hash,
      ...{ chosen_reward: 1, rejected_reward: 0, margin: 1, task: 'task' },
    });
  });

  it('is not made of a run without a reward, and not of one in which no one answered', () => {
    const reasons = goldenLogs().flatMap((events) => {
      const [unrated, rated] = [runOf(events, null), runOf(events, 1)];
      if (unrated === null || rated === null) return [];
      const found = [attemptOf(unrated, options), attemptOf(rated, options)];
      return [found.map((one) => (typeof one === 'string' ? one : 'attempt')).join(' ')];
    });
    expect(new Set(reasons)).toContain('unrated attempt');
    expect(new Set(reasons)).toContain('nothing_said nothing_said');
    expect(reasons.filter((one) => one.startsWith('attempt'))).toEqual([]);
  });

  it('of the golden logs is exported as it always was', () => {
    if (process.env['HOLDFAST_WRITE_GOLDEN'] === '1') writeFileSync(GOLDEN, `${JSON.stringify(pairs, null, 1)}\n`);
    expect(toJson(pairs)).toEqual(JSON.parse(readFileSync(GOLDEN, 'utf8')));
  });
});

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-preferences-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Looks a number up that no one gave it, and says it. */
let guesses = 0;
const guesser = defineAgent({
  agent: new Agent({
    ...{ name: 'guesser', instructions: 'You guess.' },
    model: functionModel('guesser-model', ({ input }) => [
      say(`My guess is ${guesses++} after ${resultsIn(input).length}.`),
    ]),
  }),
});

/** Says as many characters as the input asks for, and who says them. */
const talker = defineAgent({
  agent: new Agent({
    name: 'talker',
    model: functionModel('talker-model', ({ input }) => {
      const asked = Array.isArray(input) ? input.find((item) => 'content' in item)?.content : input;
      return [say(`${guesses++} ${'x'.repeat(Number(asked))}`)];
    }),
  }),
});

describeEachDatabaseSlowly('an export of preference pairs', (kind) => {
  const dir = join(scratch, kind);
  const t = engineFor(kind, { ...config, agents: [...config.agents, guesser, talker], exportDir: dir });
  let folders = 0;
  const exported = async (changes: StartExport['options'] = {}, filters: StartExport['filters'] = {}) => {
    const request = { format: 'preference', options: changes, filters, to: { folder: `f-${folders++}` } } as const;
    return ended(t.engine, await t.engine.startExport(request, ADMIN));
  };

  const attempt = async (taskId: string, reward: number | null, agent = 'guesser', input = 'go'): Promise<string> => {
    const { id } = await t.engine.startRun({ agent, input, metadata: { taskId } }, ADMIN);
    expect(await restOf(t.engine, id)).toMatchObject({ status: 'completed' });
    if (reward !== null) await t.engine.rewardRun(id, { reward }, ADMIN);
    return id;
  };
  const ids: { [name: string]: string } = {};

  beforeAll(async () => {
    // The runs of two tasks come in turns.
    ids['half'] = await attempt('one', 0.5);
    ids['b1'] = await attempt('two', 1);
    ids['best'] = await attempt('one', 1);
    ids['none'] = await attempt('one', 0);
    ids['b0'] = await attempt('two', 0.2);
    ids['almost'] = await attempt('one', 0.9);
    ids['unrated'] = await attempt('one', null);
    ids['other'] = await attempt('one', 0, 'guesser', 'something else');
    // They say what one before them said, and hand over to another agent.
    await attempt('looked', 1, 'looker');
    await attempt('looked', 0, 'looker');
    await attempt('fronted', 1, 'front');
  });

  it('pairs the runs of each task, and says of every other run why it is not there', async () => {
    const view = await exported();
    expect(view.error).toBeNull();
    const rows = view.files
      .filter(({ split }) => split === 'train')
      .flatMap(({ path }) => rowsIn(join(view.folder, path)));
    expect(rows.map((row) => [row['chosen_run_id'], row['rejected_run_id'], row['margin']])).toEqual([
      [ids['best'], ids['none'], 1],
      [ids['almost'], ids['half'], 0.4],
      [ids['b1'], ids['b0'], 0.8],
    ]);
    // Of 11 runs 6 are in pairs.
    expect(view.progress).toEqual({
      ...{ runs: 11, done: 11, rows: 3, sending: null },
      skipped: { duplicate: 1, unrated: 1, handed_over: 1, unpaired: 2 },
    });
    for (const row of rows) {
      const [chosen, rejected] = renderedSides(row as JsonObject);
      expect(chosen).toMatch(/My guess is \d+ after 0\./);
      expect(rejected).not.toBe(chosen);
      expect(row['prompt']).toEqual([
        { role: 'system', content: 'You guess.' },
        { role: 'user', content: 'go' },
      ]);
    }
    const card = readFileSync(join(view.folder, 'README.md'), 'utf8');
    expect(card).toContain('| unpaired | 2 |');
    const evidence = rowsIn(join(view.folder, 'evidence/runs-00000-of-00001.jsonl'));
    expect(evidence.map(({ run }) => run)).toEqual(
      ['best', 'none', 'almost', 'half', 'b1', 'b0'].map((name) => ids[name]),
    );
  });

  it('never parts a task, however few runs a file may have, and is the same when it is made again', async () => {
    const [whole, parted, again] = [
      await exported(),
      await exported({ runsPerFile: 1 }),
      await exported({ runsPerFile: 1 }),
    ];
    expect(parted.progress).toEqual(whole.progress);
    expect(parted.files.filter(({ split }) => split === 'train').map(({ rows }) => rows)).toEqual([2, 1]);
    expect(parted.files.map(({ sha256 }) => sha256)).toEqual(again.files.map(({ sha256 }) => sha256));
  });

  it('goes by its options', async () => {
    expect((await exported({ minMargin: 0.5 })).progress).toMatchObject({ rows: 2, skipped: { unpaired: 4 } });
    expect((await exported({ pairsPerTask: 1 })).progress).toMatchObject({ rows: 2, skipped: { unpaired: 4 } });
    expect((await exported({}, { agent: 'looker' })).progress).toMatchObject({
      rows: 0,
      skipped: { duplicate: 1, unpaired: 1 },
    });
    expect((await exported({ deduplicate: false }, { agent: 'looker' })).progress).toMatchObject({
      rows: 0,
      skipped: { unpaired: 2 },
    });
    expect((await exported({}, { minReward: 0.5 })).progress).toMatchObject({ rows: 1 });
  });

  it('is Parquet with the same rows', async () => {
    const [lines, view] = [await exported(), await exported({ encoding: 'parquet' })];
    const fields = datasetFields('preference', { reasoningKey: 'reasoning_content', media: 'placeholder' });
    const expected = withNulls(rowsIn(join(lines.folder, lines.files[0]?.path ?? '')), fields);
    expect(expected).toHaveLength(3);
    for (const read of [byHyparquet, byDuckdb])
      expect(await read(join(view.folder, view.files[0]?.path ?? ''), fields)).toStrictEqual(expected);
  });

  it('reads long attempts again where there are too many, and leaves out one that is too long', async () => {
    const long: string[] = [];
    for (let n = 0; n < 10; n++) long.push(await attempt('long', 10 - n, 'talker', '1900000'));
    await attempt('long', 11, 'talker', '2200000');
    const view = await exported({}, { agent: 'talker' });
    expect(view.progress).toMatchObject({ rows: 4, skipped: { too_large: 1, unpaired: 2 } });
    const rows = rowsIn(join(view.folder, view.files[0]?.path ?? ''));
    expect(rows.map((row) => [row['chosen_run_id'], row['rejected_run_id']])).toEqual(
      [0, 1, 2, 3].map((n) => [long[n], long[9 - n]]),
    );
    for (const row of rows) {
      const [chosen, rejected] = [row['chosen'] as ChatMessage[], row['rejected'] as ChatMessage[]];
      expect(chosen[0]?.content).toMatch(/^\d+ x{1900000}$/);
      expect(rejected[0]?.content).toMatch(/^\d+ x{1900000}$/);
    }
  }, 60_000);
});
