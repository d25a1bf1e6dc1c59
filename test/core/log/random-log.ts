import fc from 'fast-check';
import type { JsonValue } from '../../../src/core/json.js';
import type { EventDraft } from '../../../src/core/log/event.js';
import { digestFor, LOG } from './sealed-log.js';

/** Logs of agents that do one thing or another: calls are allowed, denied or asked for, segments pause, are cut or rebuilt. */

const output = fc.jsonValue() as fc.Arbitrary<JsonValue>;
const call = fc.record({ allowed: fc.boolean(), output });
const segment = fc.record({
  turns: fc.array(fc.array(call, { maxLength: 3 }), { minLength: 1, maxLength: 3 }),
  /** How it ends: with a call that waits for a decision, or after its turns. */
  asks: fc.option(fc.constantFrom('approve' as const, 'reject' as const)),
  rebuilt: fc.boolean(),
});
type Segment = typeof segment extends fc.Arbitrary<infer S> ? S : never;

class Writer {
  readonly drafts: EventDraft[] = [LOG[0] as EventDraft];
  #segment = -1;
  #turn = 0;
  #calls = 0;
  /** What the next segment starts from. */
  #approved: { readonly id: string; readonly callId: string; readonly verdict: 'approve' | 'reject' } | null = null;

  #add<K extends EventDraft['kind']>(kind: K, data: Extract<EventDraft, { kind: K }>['data']): void {
    const key = `k${this.drafts.length}`;
    this.drafts.push({ key, parentKey: 'created', kind, data } as unknown as EventDraft);
  }

  #check(callId: string, decision: 'allow' | 'deny' | 'ask'): void {
    const checks = [{ capability: 'tool:call:pay', effect: decision, rule: null, reason: 'r' }];
    const judged = { effect: 'unsafe' as const, arguments: { n: 1 }, digest: digestFor(callId, { n: 1 }), decision };
    this.#add('call.checked', { callId, tool: 'pay', toolVersion: '1', reason: 'r', checks, ...judged });
  }

  #run(callId: string, value: JsonValue): void {
    this.#add('call.started', { callId, tool: 'pay', effect: 'unsafe' });
    this.#add('call.finished', { callId, tool: 'pay', outcome: { type: 'output', output: value } });
  }

  #refuse(callId: string, why: 'denied' | 'rejected'): void {
    this.#add('call.finished', { callId, tool: 'pay', outcome: { type: 'refused', why, message: why } });
  }

  write({ turns, asks, rebuilt }: Segment): void {
    const from = this.#approved;
    this.#segment += 1;
    this.#add('segment.started', { segment: this.#segment, decisions: from === null ? [] : [from.id] });
    if (from?.verdict === 'reject') this.#refuse(from.callId, 'rejected');
    if (from?.verdict === 'approve') {
      this.#check(from.callId, 'ask');
      this.#run(from.callId, 'approved');
    }
    this.#approved = null;
    for (const calls of turns) this.#takeTurn(calls);
    if (rebuilt) {
      this.#segment += 1;
      this.#add('segment.rebuilt', { segment: this.#segment, from: 1, to: 2 });
    }
    if (asks === null) this.#add('segment.cut', { segment: this.#segment, turns: this.#turn });
    else this.#pause(asks);
  }

  #takeTurn(calls: Segment['turns'][number]): void {
    this.#turn += 1;
    const turn = this.#turn;
    const model = { turn, agent: 'a', model: 'm' };
    const usage = { inputTokens: turn, outputTokens: 1, totalTokens: turn + 1 };
    this.#add('model.requested', { ...model, inputItems: turn, inputDigest: 'd', tools: [] });
    this.#add('model.responded', { ...model, responseId: null, output: [{ type: 'message', turn }], usage });
    for (const { allowed, output: value } of calls) {
      const callId = `c${++this.#calls}`;
      this.#check(callId, allowed ? 'allow' : 'deny');
      if (allowed) this.#run(callId, value);
      else this.#refuse(callId, 'denied');
    }
  }

  #pause(verdict: 'approve' | 'reject'): void {
    const callId = `c${++this.#calls}`;
    const id = `int_${this.#calls}`;
    const digest = digestFor(callId, { n: 1 });
    this.#check(callId, 'ask');
    const asked = { id, kind: 'approval', callId, tool: 'pay', reason: 'grant_ask' as const, text: 't', digest };
    this.#add('interruption.requested', { ...asked, expiresInMs: null });
    this.#add('run.paused', { segment: this.#segment, interruptions: [id] });
    this.#add('interruption.decided', { id, verdict, actor: 'ann', message: null, value: null, digest });
    this.#approved = { id, callId, verdict };
  }
}

export const randomLog: fc.Arbitrary<readonly EventDraft[]> = fc
  .array(segment, { minLength: 1, maxLength: 4 })
  .map((segments) => {
    const writer = new Writer();
    for (const one of segments) writer.write(one);
    return writer.drafts;
  });
