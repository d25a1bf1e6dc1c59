import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonical, digestOf } from '../../../src/core/json.js';
import { dataHash, eventHash, genesis, type Head, seal } from '../../../src/core/log/chain.js';
import type { EventDraft, RunEvent } from '../../../src/core/log/event.js';
import { verifyLog } from '../../harness/verify-log.js';

const KEY = '00'.repeat(32);
const AT = '2026-01-01T00:00:00.000Z';

const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
const limits = { maxTurns: 3, maxTotalTokens: null, maxDurationMs: null };

const DRAFTS: EventDraft[] = [
  {
    ...{ key: 'created', parentKey: null, kind: 'run.created' },
    data: {
      agent: 'a',
      agentVersion: '1',
      agentHash: 'h',
      input: 'go €',
      grants: [],
      policyVersion: 'p',
      limits,
      metadata: {},
    },
  },
  { key: '0:0', parentKey: 'created', kind: 'segment.started', data: { segment: 0, decisions: [] } },
  {
    ...{ key: '0:1', parentKey: '0:0', kind: 'model.requested' },
    data: { turn: 1, agent: 'a', model: 'm', inputItems: 1, inputDigest: 'd', tools: ['pay'] },
  },
  {
    ...{ key: '0:2', parentKey: '0:1', kind: 'model.responded' },
    data: {
      turn: 1,
      agent: 'a',
      model: 'm',
      responseId: null,
      output: [{ type: 'message', text: '\u2028 \ud83d\ude00' }],
      usage,
    },
  },
  { key: 'end', parentKey: '0:2', kind: 'run.completed', data: { output: { n: 1e21, z: -0, a: [1, 'é'] } } },
];

const sealAll = (drafts: readonly EventDraft[]): { events: RunEvent[]; head: Head } => {
  let head = genesis('run_1', 'default');
  const seqOf = new Map<string, number>();
  const events = drafts.map((draft) => {
    const parent = draft.parentKey === null ? null : `run_1:${seqOf.get(draft.parentKey)}`;
    const sealed = seal(head, draft, parent, AT, KEY);
    head = sealed.head;
    seqOf.set(draft.key, head.seq);
    return sealed.event;
  });
  return { events, head };
};

const verify = (events: readonly RunEvent[], head: Head, key: string | null = KEY) =>
  verifyLog('run_1', 'default', events, key, head);

describe('the chain of a log', () => {
  it('has the hashes that it always had', () => {
    const file = join(import.meta.dirname, '../../golden/event-chain-v1.json');
    const { events } = sealAll(DRAFTS);
    // Only ever added to: a change of these values breaks every log that exists.
    if (!existsSync(file)) writeFileSync(file, `${JSON.stringify(events, null, 1)}\n`);
    expect(JSON.parse(JSON.stringify(events))).toEqual(JSON.parse(readFileSync(file, 'utf8')));
  });

  it('verifies whole, and without the key of its payloads', () => {
    const { events, head } = sealAll(DRAFTS);
    expect(verify(events, head)).toMatchObject({ ok: true, complete: true, events: 5 });
    const erased = events.map((event) => ({ ...event, data: null }));
    expect(verify(erased, head, null)).toMatchObject({ ok: true, complete: true });
  });

  it('any change of any field of any event is found', () => {
    const { events, head } = sealAll(DRAFTS);
    const fields = Object.keys(events[0] ?? {}) as (keyof RunEvent)[];
    fc.assert(
      fc.property(fc.nat(events.length - 1), fc.constantFrom(...fields), fc.anything(), (index, field, value) => {
        const event = events[index] as RunEvent;
        fc.pre(JSON.stringify(value) !== JSON.stringify(event[field]));
        const changed = events.map((one, at) => (at === index ? ({ ...one, [field]: value } as RunEvent) : one));
        let ok: boolean;
        try {
          ok = verify(changed, head).ok;
        } catch {
          // What JSON cannot carry cannot come out of the database.
          ok = false;
        }
        return !ok;
      }),
      { numRuns: 500 },
    );
  });

  it('any event that is missing, doubled or moved is found', () => {
    const { events, head } = sealAll(DRAFTS);
    fc.assert(
      fc.property(fc.array(fc.nat(events.length - 1), { maxLength: 7 }), (order) => {
        fc.pre(order.length !== events.length || order.some((at, place) => at !== place));
        return !verify(
          order.map((at) => events[at] as RunEvent),
          head,
        ).ok;
      }),
    );
  });

  it('an event is hashed as canonical JSON of its fields', () => {
    const text = fc.string({ unit: 'grapheme' });
    const number = fc.integer();
    const event = fc.record({
      ...{ v: fc.constant(1 as const), runId: text, tenant: text, seq: number, parentId: fc.option(text), kind: text },
      ...{
        at: text,
        dataHash: text,
        stateVersion: number,
        stateHashBefore: text,
        stateHashAfter: text,
        prevHash: text,
      },
    });
    fc.assert(fc.property(event, (one) => eventHash(one) === digestOf(one)));
  });

  it('the same payload has another commitment at another place and under another key', () => {
    const text = canonical({ a: 1 });
    expect(dataHash(KEY, 1, text)).not.toBe(dataHash(KEY, 2, text));
    expect(dataHash(KEY, 1, text)).not.toBe(dataHash('11'.repeat(32), 1, text));
  });
});
