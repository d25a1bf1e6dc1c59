import { Agent } from '@openai/agents';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Allowance } from '../../../src/core/limits/allowance.js';
import { isOver, type RunView } from '../../../src/core/runs/run.js';
import { registerAgents } from '../../../src/engine/agents/agent-registry.js';
import { longWork, mapConcurrently } from '../../../src/engine/concurrency/concurrency-limits.js';
import { logPages } from '../../../src/engine/evidence/log-reading.js';
import { readStored, replayStored } from '../../../src/engine/replay/replay-run.js';
import { grantsToday } from '../../../src/engine/replay/replayed-run.js';
import { jsonText } from '../../../src/http/wire/json-text.js';
import { defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { knowSecret, withoutSecrets } from '../../../src/models/secrets/known-secrets.js';
import { breathe } from '../../../src/storage/database/timing.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, engineFor, restOf } from '../../harness/engine.js';
import { call, resultsIn, say } from '../../harness/script.js';

const TURNS = 90;
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  effect: 'pure',
  input: z.object({ n: z.number(), text: z.string() }),
  output: z.string(),
  execute: ({ text }) => text,
});
const model = functionModel('long', ({ input }) => {
  const n = Number(resultsIn(input).at(-1)?.callId.slice(1) ?? 0) + 1;
  return n > TURNS ? [say('enough')] : [call('look', { n, text: 'x'.repeat(500) }, `c${n}`)];
});
const config = {
  agents: [
    defineAgent({
      agent: new Agent({ name: 'long', model, tools: [look] }),
      grants: ['tool:call:look'],
      maxTurns: 1000,
    }),
  ],
};

/** How often everything else of the process had its turn while some work went on. */
async function turnsBeside(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    if (isOver) return;
    turns++;
    setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

const busy = (ms: number): void => {
  for (const until = performance.now() + ms; performance.now() < until; );
};

describeBothDatabasesSlowly('work with a long run', (kind) => {
  const t = engineFor(kind, config);
  let id: string;
  beforeAll(async () => {
    ({ id } = await t.engine.startRun({ agent: 'long', input: 'go' }, ADMIN));
    expect(await over(id)).toMatchObject({ status: 'completed', turns: TURNS + 1 });
  }, 300_000);

  /** However long it takes. */
  const over = async (run: string): Promise<RunView> => {
    const view = await restOf(t.engine, run);
    return isOver(view.status) ? view : over(run);
  };

  it('is replayed beside everything else, which has its turn again and again', async () => {
    // Nothing is read meanwhile: without a pause of its own the replay would end in the same turn of the event loop.
    const [turns, report] = await t.between(async (knex) => {
      const stored = await readStored(knex, 'default', id);
      let found: unknown;
      const counted = await turnsBeside(async () => {
        found = await replayStored(registerAgents(config), stored, grantsToday);
      });
      return [counted, found] as const;
    });
    expect(report).toMatchObject({ result: 'same', whole: true });
    expect(turns).toBeGreaterThan(2);
  });

  it('ends where no one wants it any more, and lets the next one begin', async () => {
    const gone = new AbortController();
    const why = new Error('no one waits');
    const first = t.engine.replayRun(id, {}, ADMIN, { signal: gone.signal });
    const second = t.engine.replayRun(id, {}, ADMIN, { signal: gone.signal });
    setImmediate(() => gone.abort(why));
    await Promise.all([expect(first).rejects.toBe(why), expect(second).rejects.toBe(why)]);
    expect(await t.engine.replayRun(id, {}, ADMIN)).toMatchObject({ result: 'same' });
    const late = { signal: gone.signal };
    await expect(t.engine.verifyRun(id, ADMIN, {}, late)).rejects.toBe(why);
    await expect(t.engine.verifyRuns({ limit: 10 }, ADMIN, late)).rejects.toBe(why);
    await expect(t.engine.stateAt(id, undefined, ADMIN, late)).rejects.toBe(why);
    await expect(t.engine.diffRuns(id, id, ADMIN, late)).rejects.toBe(why);
    await expect(t.engine.exportProof(id, { payloads: true, ...late }, ADMIN)).rejects.toBe(why);
    await expect(t.engine.getTrajectory(id, ADMIN, late)).rejects.toBe(why);
    await expect(t.engine.verifyLog(ADMIN, late)).rejects.toBe(why);
    await expect(t.engine.repairRun(id, {}, ADMIN, late)).rejects.toBe(why);
    await expect(t.engine.retryRun(id, {}, ADMIN, undefined, late)).rejects.toBe(why);
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
  });

  it('asks the database nothing any more when it has ended so', async () => {
    await t.between(async (knex) => {
      let asked = 0;
      knex.on('query', () => {
        asked++;
      });
      for await (const few of logPages(knex, id, 0)) expect(few.length).toBeGreaterThan(0);
      const whole = asked;
      asked = 0;
      const gone = new AbortController();
      const read = async (): Promise<void> => {
        for await (const few of logPages(knex, id, 0, gone.signal)) if (few.length > 0) gone.abort(new Error('gone'));
      };
      await expect(read()).rejects.toThrow('gone');
      await knex.raw('select 1');
      // The page that was worked on, the next one, which was on its way, and that statement.
      expect(asked).toBeLessThanOrEqual(3);
      expect(whole).toBeGreaterThanOrEqual(3);
    });
  });

  it('makes no fork that no one waits for any more', async () => {
    const forks = () =>
      t.between(async (knex): Promise<number> => {
        const { rows } = await knex.raw('select count(*)::int as n from holdfast.runs where forked_from_run_id = ?', [
          id,
        ]);
        return rows[0].n;
      });
    const before = await forks();
    const { seq } = await t.engine.stateAt(id, undefined, ADMIN);
    const gone = new AbortController();
    const why = new Error('no one waits');
    const asked = t.engine.forkRun(id, { at: seq - 12 }, ADMIN, 'asked', { signal: gone.signal });
    setImmediate(() => gone.abort(why));
    await expect(asked).rejects.toBe(why);
    expect(await forks()).toBe(before);
    // Its key is free again.
    const { id: fork } = await t.engine.forkRun(id, { at: seq - 12 }, ADMIN, 'asked');
    expect(await over(fork)).toMatchObject({ status: 'completed' });
    expect(await forks()).toBe(before + 1);
  });

  it('gives a fork the whole of a log that is copied part by part', async () => {
    const { seq } = await t.engine.stateAt(id, undefined, ADMIN);
    const { id: fork } = await t.engine.forkRun(id, { at: seq - 12 }, ADMIN);
    expect(await over(fork)).toMatchObject({ status: 'completed', turns: TURNS + 1, output: 'enough' });
    expect(await t.engine.verifyRun(fork, ADMIN)).toMatchObject({ ok: true });
    expect(await t.engine.replayRun(fork, {}, ADMIN)).toMatchObject({ result: 'same', whole: true });
    expect(await t.engine.diffRuns(id, fork, ADMIN)).toMatchObject({ same: true });
  });
});

describe('long work', () => {
  it('has a turn of the event loop for each piece of it, however many go on at once', async () => {
    const order: string[] = [];
    const worker = async (name: string): Promise<void> => {
      for (let at = 0; at < 3; at++) {
        busy(12);
        await breathe();
        order.push(name);
      }
    };
    let isOver = false;
    const note = (): void => {
      if (isOver) return;
      order.push('other');
      setImmediate(note);
    };
    setImmediate(note);
    await Promise.all([worker('a'), worker('b'), worker('c')]);
    isOver = true;
    for (const [at, name] of order.entries()) if (name !== 'other') expect(order[at - 1] ?? 'other').toBe('other');
    expect(order.filter((name) => name !== 'other')).toHaveLength(9);
  });

  it('is bounded: some at once, some in a line, the others are refused', async () => {
    const ending = new AbortController();
    const work = longWork({ atOnce: 1, waiting: 2, what: 'tests' }, ending.signal);
    const done: string[] = [];
    let free = (): void => undefined;
    const first = work(() => new Promise<void>((resolve) => (free = resolve)));
    const gone = new AbortController();
    const second = work(async () => void done.push('second'), gone.signal);
    const third = work(async () => void done.push('third'));
    await expect(work(async () => undefined)).rejects.toMatchObject({ code: 'rate_limited' });
    const left = expect(second).rejects.toThrow('gone');
    gone.abort(new Error('gone'));
    await left;
    const fourth = work(async () => {
      done.push('fourth');
      throw new Error('its own');
    });
    free();
    await Promise.all([first, third, expect(fourth).rejects.toThrow('its own')]);
    expect(done).toEqual(['third', 'fourth']);
    ending.abort(new Error('the engine stops'));
    await expect(work(async () => undefined)).rejects.toThrow('the engine stops');
  });
});

describe('things that are done side by side', () => {
  it('are so many at once, and heard of in their order', async () => {
    let atWork = 0;
    let most = 0;
    const work = async (n: number): Promise<number> => {
      most = Math.max(most, ++atWork);
      for (let turns = 8 - n; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
      atWork--;
      return n;
    };
    const heard: number[] = [];
    for await (const n of mapConcurrently([1, 2, 3, 4, 5, 6, 7], 3, work)) heard.push(n);
    expect(heard).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(most).toBe(3);
    for await (const n of mapConcurrently([1, 2, 3, 4, 5], 3, work)) if (n === 2) break;
    expect(atWork).toBe(0);
    const failing = async (n: number): Promise<number> => (n === 2 ? Promise.reject(new Error('two')) : work(n));
    const all = async (): Promise<void> => {
      for await (const n of mapConcurrently([1, 2, 3], 3, failing)) expect(n).toBe(1);
    };
    await expect(all()).rejects.toThrow('two');
    expect(atWork).toBe(0);
  });
});

describe('an answer that is written part by part', () => {
  it('is the JSON that it would be in one piece', async () => {
    knowSecret('a-secret-of-16-characters');
    const leaf = fc.oneof(
      fc.jsonValue(),
      fc.constant(undefined),
      fc.constant(new Date(0)),
      fc.constant('a-secret-of-16-characters'),
    );
    const body = fc.oneof(
      leaf,
      fc.array(leaf),
      fc.dictionary(fc.string(), fc.oneof(leaf, fc.array(leaf), fc.dictionary(fc.string(), leaf))),
    );
    const asked = fc.asyncProperty(body, async (value) => {
      expect(await jsonText(value, new Allowance())).toBe(JSON.stringify(withoutSecrets(value)) ?? 'null');
    });
    await fc.assert(asked);
  });
});
