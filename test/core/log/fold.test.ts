import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonical, digestOf, isJson, sha256, toJson } from '../../../src/core/json.js';
import { type Head, seal } from '../../../src/core/log/chain.js';
import { LogCheck } from '../../../src/core/log/check-log.js';
import { stateHash } from '../../../src/core/log/state.js';
import { SLOW } from '../../harness/slow.js';
import { verifyLog } from '../../harness/verify-log.js';
import { randomLog } from './random-log.js';
import { RUN_ID, RUN_KEY, sealLog } from './sealed-log.js';

describe('a log of any run', () => {
  it.runIf(SLOW)('verifies, and folds to the same state each time', () => {
    fc.assert(
      fc.property(randomLog, (drafts) => {
        const log = sealLog(drafts);
        expect(verifyLog(RUN_ID, 'default', log.events, RUN_KEY, log.head)).toMatchObject({ ok: true, broken: null });
        expect(sealLog(structuredClone(drafts)).head).toEqual(log.head);
      }),
      { numRuns: 50 },
    );
  });

  it.runIf(SLOW)('goes on from a kept state at any of its events as from its first', () => {
    fc.assert(
      fc.property(randomLog, fc.nat(), (drafts, place) => {
        const { events, head } = sealLog(drafts);
        const at = place % (events.length + 1);
        const first = LogCheck.fromStart(RUN_ID, 'default', RUN_KEY);
        for (const event of events.slice(0, at)) expect(first.next(event)).toBeNull();
        // As it is stored and read again.
        const text = canonical(first.head.state);
        expect(sha256(text)).toBe(first.head.stateHash);
        const since: Head = { ...first.head, state: JSON.parse(text) };
        const next = new LogCheck({ head: since, runKey: RUN_KEY });
        for (const event of events.slice(at)) expect(next.next(event)).toBeNull();
        expect(next.head).toEqual(head);
      }),
      { numRuns: 100 },
    );
  });

  it.runIf(SLOW)('does not verify in another order, with all hashes computed again', () => {
    fc.assert(
      fc.property(randomLog, fc.nat(), (drafts, place) => {
        const at = 1 + (place % (drafts.length - 2));
        const [one, two] = [drafts[at], drafts[at + 1]];
        fc.pre(one !== undefined && two !== undefined && orderCounts(one.kind, two.kind));
        const swapped = drafts.map((draft, index) => (index === at ? two : index === at + 1 ? one : draft));
        const log = sealLog(swapped as typeof drafts);
        expect(verifyLog(RUN_ID, 'default', log.events, RUN_KEY, log.head).ok).toBe(false);
      }),
      { numRuns: 200 },
    );
  });
});

/** Neighbours of which the second follows from the first. */
const IN_ORDER: ReadonlySet<string> = new Set([
  ...['model.requested model.responded', 'call.checked call.started', 'call.started call.finished'],
  ...['interruption.requested run.paused', 'interruption.decided segment.started', 'segment.cut segment.started'],
  ...['segment.started model.requested', 'segment.rebuilt segment.cut'],
]);

const orderCounts = (one: string, two: string): boolean => IN_ORDER.has(`${one} ${two}`);

describe('canonical JSON', () => {
  const value = fc.jsonValue({ maxDepth: 4 });

  it('says the same whatever the order of keys, and reads back as it was', () => {
    const turned = (one: unknown): unknown => {
      if (Array.isArray(one)) return one.map(turned);
      if (typeof one !== 'object' || one === null) return one;
      return Object.fromEntries(
        Object.entries(one)
          .reverse()
          .map(([key, item]) => [key, turned(item)]),
      );
    };
    fc.assert(
      fc.property(value, (one) => {
        const text = canonical(one);
        expect(canonical(turned(one))).toBe(text);
        expect(canonical(JSON.parse(text))).toBe(text);
        expect(toJson(JSON.parse(text))).toEqual(toJson(one));
      }),
    );
  });

  it('writes a number as it is read, however it was given', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(canonical(number)).toBe(JSON.stringify(number));
        expect(Object.is(JSON.parse(canonical(number)), number) || number === 0).toBe(true);
      }),
    );
    expect(['1.0', '1', '1e0', '100e-2'].map((text) => canonical(JSON.parse(text)))).toEqual(['1', '1', '1', '1']);
    expect([1e21, 1e-7, -0, 0.1 + 0.2].map(canonical)).toEqual(['1e+21', '1e-7', '0', '0.30000000000000004']);
  });

  it('keeps any key, __proto__ too, and refuses half a character', () => {
    const key = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'toString', ''), fc.string({ unit: 'grapheme' }));
    fc.assert(
      fc.property(fc.array(fc.tuple(key, fc.integer()), { maxLength: 5 }), (members) => {
        const object = Object.fromEntries(members);
        const back: unknown = JSON.parse(canonical(object));
        expect(Object.entries(back as object).sort()).toEqual(Object.entries(object).sort());
        expect(isJson(object)).toBe(true);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        if (text.isWellFormed()) return digestOf(text) === sha256(JSON.stringify(text));
        expect(() => canonical(text)).toThrow('lone surrogate');
        expect(() => canonical({ [text]: 1 })).toThrow('lone surrogate');
        return true;
      }),
    );
    expect(() => canonical('a\ud800b')).toThrow('lone surrogate');
  });
});

it('the state hash is that of the canonical state, whatever is open', () => {
  fc.assert(
    fc.property(randomLog, (drafts) => {
      const { head, events } = sealLog(drafts);
      expect(stateHash(head.state)).toBe(events.at(-1)?.stateHashAfter);
      expect(stateHash(head.state)).toBe(digestOf(head.state));
      const more = seal(
        head,
        { ...(drafts[1] as (typeof drafts)[number]), key: 'more' },
        `${RUN_ID}:1`,
        head.at,
        RUN_KEY,
      );
      expect(more.event.stateHashBefore).toBe(head.stateHash);
    }),
    { numRuns: 20 },
  );
});
