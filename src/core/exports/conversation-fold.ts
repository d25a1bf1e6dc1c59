import { type JsonObject, objectsIn, sameJson } from '../json.js';
import type { CallOutcome } from '../log/call-outcome.js';
import type { EventData, ToldEvent } from '../log/event.js';
import { isOver } from '../runs/run.js';
import type {
  AssistantMessage,
  Conversation,
  ConversationCall,
  ConversationMessage,
  Loop,
  ToolMessage,
} from './conversation.js';
import { answerIn, argumentsObject, givenIn, outputText } from './conversation-items.js';

/** A loop while its run is read. */
class OpenLoop {
  readonly within: string | null;
  readonly messages: ConversationMessage[] = [];
  readonly offered = new Map<string, readonly string[]>();
  /** Calls of the last answer that were started and have not ended, in the model's order. */
  readonly started = new Set<string>();
  /** Places of the results, by call id. */
  readonly #results = new Map<string, number>();

  constructor(within: string | null) {
    this.within = within;
  }

  offer(agent: string, tools: readonly string[]): void {
    this.offered.set(agent, [...new Set([...(this.offered.get(agent) ?? []), ...tools])]);
  }

  get last(): AssistantMessage | undefined {
    return this.messages.findLast((message) => message.role === 'assistant');
  }

  answered(callId: string): boolean {
    return this.#results.has(callId);
  }

  /** Of several calls of one id in an answer, as logs of older builds have them, the first that no one judged is meant. */
  change(callId: string, change: (call: ConversationCall) => ConversationCall): void {
    const at = this.messages.findLastIndex(
      (one) => one.role === 'assistant' && one.calls.some((call) => call.callId === callId),
    );
    const message = this.messages[at];
    if (message?.role !== 'assistant') return;
    const same = message.calls.filter((call) => call.callId === callId);
    const meant = same.find(({ decision }) => decision === null) ?? same[0];
    const calls = message.calls.map((call) => (call === meant ? change(call) : call));
    this.messages[at] = { ...message, calls };
  }

  /** A call that ends again, as in what a fork has taken over, ends as it did last. */
  answer(message: ToolMessage): void {
    const at = this.#results.get(message.callId) ?? this.messages.length;
    this.messages[at] = message;
    this.#results.set(message.callId, at);
  }
}

/** What the SDK tells a model whose call was a handoff. */
const handedOver = (agent: string): string => JSON.stringify({ assistant: agent });

const readText = (outcome: CallOutcome): string =>
  outcome.type === 'output' ? (outcome.text ?? outputText(outcome.output)) : outcome.message;

class Fold {
  readonly #main = new OpenLoop(null);
  readonly #inner = new Map<string, OpenLoop>();
  readonly #owners = new Map<string, OpenLoop>();
  readonly #agent: string;
  #asked: { readonly loop: OpenLoop; readonly event: ToldEvent } | null = null;
  #history = 0;
  /** Events up to here are another run's. */
  #copiedTo = 0;

  constructor(agent: string) {
    this.#agent = agent;
  }

  get loops(): readonly Loop[] {
    return [this.#main, ...this.#inner.values()];
  }

  begin(events: readonly ToldEvent[]): void {
    const loaded = events.find(({ kind }) => kind === 'session.loaded');
    if (loaded !== undefined) this.#history = (loaded.data as EventData<'session.loaded'>).items;
  }

  take(event: ToldEvent): void {
    // What an event of a kind holds was checked when it was written.
    const data = event.data as never;
    if (event.kind === 'run.created') this.#given(event, data);
    else if (event.kind === 'run.forked') this.#copiedTo = event.seq + (data as EventData<'run.forked'>).copied;
    else if (event.kind === 'segment.started') for (const loop of this.#all()) loop.started.clear();
    else if (event.kind === 'model.requested') this.#requested(event, data);
    else if (event.kind === 'model.responded') this.#responded(event, data);
    else if (event.kind === 'model.failed') this.#failed(event, data);
    else if (event.kind === 'call.checked') this.#checked(data);
    else if (event.kind === 'call.started') this.#ownerOf(data)?.started.add((data as { callId: string }).callId);
    else if (event.kind === 'child.started') this.#child(data);
    else if (event.kind === 'call.finished') this.#finished(event, data);
  }

  #all(): readonly OpenLoop[] {
    return [this.#main, ...this.#inner.values()];
  }

  #ownerOf({ callId }: { readonly callId: string }): OpenLoop | undefined {
    return this.#owners.get(callId);
  }

  /**
   * The loop that asks a model now. While a call of a loop is at work, no one but the agent behind it asks one: agents behind
   * tools work one after the other, when the other calls before them have ended.
   */
  #current(): OpenLoop {
    let loop = this.#main;
    for (;;) {
      const [callId] = loop.started;
      if (callId === undefined) return loop;
      const inner = this.#inner.get(callId) ?? new OpenLoop(callId);
      if (!this.#inner.has(callId)) this.#enter(callId, inner, loop);
      loop = inner;
    }
  }

  /** What the agent behind a tool is asked is in the arguments of the call. */
  #enter(callId: string, inner: OpenLoop, outer: OpenLoop): void {
    this.#inner.set(callId, inner);
    const call = outer.last?.calls.find((one) => one.callId === callId);
    const origin = outer.last ?? { seq: 0, at: '', copied: false };
    const asked = call?.arguments['input'] ?? call?.arguments ?? {};
    const { seq, at, copied } = origin;
    inner.messages.push({ role: 'user', text: outputText(asked), parts: null, seq, at, copied });
  }

  #given({ seq, at }: ToldEvent, { input }: EventData<'run.created'>): void {
    const origin = { seq, at, copied: false };
    if (!Array.isArray(input)) {
      this.#main.messages.push({ role: 'user', text: outputText(input), parts: null, ...origin });
      return;
    }
    const items = objectsIn(input);
    this.#add(items.slice(0, this.#history), { ...origin, copied: true });
    this.#add(items.slice(this.#history), origin);
  }

  #add(items: readonly JsonObject[], origin: { seq: number; at: string; copied: boolean }): void {
    for (const given of givenIn(items)) {
      if (given.type === 'text') {
        const { role, text, parts } = given;
        this.#main.messages.push({ role, text, parts, ...origin });
      } else if (given.type === 'result') {
        const { callId, tool, text } = given;
        this.#main.answer({ role: 'tool', callId, tool, text, outcome: null, handoff: null, ...origin });
      } else {
        const { type: _, ...answer } = given;
        this.#main.messages.push({
          ...{ role: 'assistant', agent: this.#agent, model: null, ...answer, ...origin, copied: true },
          ...{ usage: null, costUsd: null, error: null, startedAt: origin.at },
          ...{ hash: null, stateHashBefore: null, stateHashAfter: null },
        });
      }
    }
  }

  #requested(event: ToldEvent, { agent, tools }: EventData<'model.requested'>): void {
    const loop = this.#current();
    this.#handOver(loop, agent, event);
    loop.offer(agent, tools);
    this.#asked = { loop, event };
  }

  /** A call that no one judged was a handoff, if another agent goes on. */
  #handOver(loop: OpenLoop, agent: string, { seq, at }: ToldEvent): void {
    const { last } = loop;
    if (last === undefined || last.agent === agent || last.hash === null) return;
    const call = last.calls.find(({ decision, callId }) => decision === null && !loop.answered(callId));
    if (call === undefined) return;
    const { callId, tool } = call;
    const copied = this.#isCopy(seq);
    loop.answer({
      ...{ role: 'tool', callId, tool, text: handedOver(agent), outcome: null, handoff: agent, seq, at, copied },
    });
  }

  #isCopy = (seq: number): boolean => seq <= this.#copiedTo;

  #answering(event: ToldEvent) {
    const { loop, event: request } = this.#asked ?? { loop: this.#current(), event };
    this.#asked = null;
    const { seq, at, hash, stateHashAfter } = event;
    const hashes = { hash, stateHashBefore: request.stateHashBefore, stateHashAfter };
    return { loop, origin: { seq, at, copied: this.#isCopy(seq), startedAt: request.at, ...hashes } };
  }

  #responded(event: ToldEvent, data: EventData<'model.responded'>): void {
    const { loop, origin } = this.#answering(event);
    const { agent, model, output, usage, cost } = data;
    const answer = answerIn(output);
    loop.started.clear();
    loop.messages.push({
      ...{ role: 'assistant', agent, model, ...answer, usage, costUsd: cost?.usd ?? null, error: null, ...origin },
    });
    for (const { callId } of answer.calls) this.#owners.set(callId, loop);
  }

  #failed(event: ToldEvent, { agent, model, error: { code, message } }: EventData<'model.failed'>): void {
    const { loop, origin } = this.#answering(event);
    const nothing = { text: '', reasoning: null, calls: [], other: [], usage: null, costUsd: null };
    loop.messages.push({ role: 'assistant', agent, model, ...nothing, error: { code, message }, ...origin });
  }

  #checked(data: EventData<'call.checked'>): void {
    const { callId, decision, checks } = data;
    this.#ownerOf(data)?.change(callId, (call) => {
      const ran = argumentsObject(data.arguments);
      const edited = !sameJson(ran, call.arguments);
      const asked = edited ? (call.asked ?? call.arguments) : call.asked;
      return { ...call, arguments: ran, asked, decision, checks };
    });
  }

  #child(data: EventData<'child.started'>): void {
    const { callId, childRunId } = data;
    this.#ownerOf(data)?.change(callId, (call) => ({ ...call, childRunId }));
  }

  #finished({ seq, at }: ToldEvent, data: EventData<'call.finished'>): void {
    const { callId, tool, outcome, workspace } = data;
    const loop = this.#ownerOf(data);
    loop?.started.delete(callId);
    loop?.answer({
      ...{ role: 'tool', callId, tool, text: readText(outcome), outcome, handoff: null },
      ...(workspace && { workspace }),
      ...{ seq, at, copied: this.#isCopy(seq) },
    });
  }
}

/**
 * Reads the whole log of a run. Null: payloads of it were erased, so that no one can say any more what was said. `run` is the
 * run as its row says.
 */
export function* foldConversation(
  run: Conversation['run'],
  events: readonly ToldEvent[],
): Generator<void, Conversation | null> {
  const last = events.at(-1);
  if (last === undefined || !isOver(run.status) || events.some(({ data }) => data === null)) return null;
  const fold = new Fold(run.agent);
  fold.begin(events);
  for (const event of events) {
    fold.take(event);
    yield;
  }
  return { run, loops: fold.loops, head: { seq: last.seq, hash: last.hash } };
}
