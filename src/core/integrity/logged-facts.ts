import { canonical, digestOf, sha256 } from '../json.js';
import type { EventData, EventKind } from '../log/event.js';
import type { RunState } from '../log/state.js';
import { addUsage, isStranded, NO_USAGE, type Usage } from '../runs/run.js';
import type { MemoryNote } from '../tools/tool-memory.js';

/** What the log says of one call, as digests where it may be large. */
export interface CallFact {
  readonly tool: string;
  readonly toolVersion: string;
  readonly effect: string;
  readonly digest: string;
  readonly arguments: string;
  readonly capabilities: string;
  /** What its row may say came of it; null: the log does not say. */
  outcomes: readonly string[] | null;
  /** Whether it was unsafe, and its body ran in this run and ended: its row was written before it began. */
  ran: boolean;
}

/** What the log says of one interruption. `at` null: a fork took it over, with the times of its source. */
export interface InterruptionFact {
  readonly asked: EventData<'interruption.requested'>;
  readonly segment: number;
  readonly at: string | null;
  readonly call: CallFact | undefined;
  votes: number;
  decided: { readonly verdict: EventData<'interruption.decided'>['verdict']; readonly at: string | null } | null;
}

export interface DecisionFact {
  readonly interruption: string;
  readonly vote: number;
  readonly verdict: string;
  readonly actor: string;
  /** Digests of what may be large. */
  readonly message: string | null;
  readonly value: string;
  readonly edit: string | null;
  readonly always: string | null;
  readonly at: string | null;
}

export interface StandingFact {
  readonly made: EventData<'standing_decision.made'>;
  readonly at: string | null;
  revoked: { readonly actor: string; readonly at: string | null } | null;
}

/** What an answer cost. */
export interface AnswerFact {
  readonly at: string | null;
  readonly model: string;
  readonly route: EventData<'model.responded'>['route'];
  readonly usage: Usage;
  readonly cost: EventData<'model.responded'>['cost'];
}

/** `note` null: the call had nothing to do with memory. */
interface EndedCall {
  readonly refused: boolean;
  readonly note: MemoryNote | null;
}

interface Sums {
  readonly turns: number;
  /** The turn that a model was asked last, answered or not. */
  readonly asked: number;
  readonly usage: Usage;
}

type Created = Omit<EventData<'run.created'>, 'input' | 'grants' | 'limits' | 'metadata'> & {
  readonly input: string;
  readonly grants: string;
  readonly limits: string;
  readonly metadata: string;
};

/** How a run ended: the digest of its output, its error as it is stored; null: it has none. */
interface End {
  readonly kind: EventKind;
  readonly output: string | null;
  readonly error: string | null;
  readonly at: string;
}

const digestOrNull = (value: unknown): string | null => (value === undefined ? null : digestOf(value));

/**
 * What the rows beside a log must say, gathered from its events in their order. It keeps digests of what may be large, so that it grows
 * with the number of calls and not with what they say.
 */
export class LoggedFacts {
  created: Created | null = null;
  createdAt = '';
  forked: EventData<'run.forked'> | null = null;
  session: EventData<'session.loaded'> | null = null;
  cancel: { readonly reason: string | null; readonly at: string } | null = null;
  end: End | null = null;
  status: 'queued' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled' = 'queued';
  /** The segment that works, or comes next. */
  segment = 0;
  /** Numbers of the events that put another segment in the place of one, and the last such segment. */
  readonly rebuilt: number[] = [];
  rebuiltSegment: number | null = null;
  /** Digest of the state that the last segment ended with; null: none has, or the log is of an older build. */
  keptState: string | null = null;
  /** Up to the end of the last segment, and up to the last event. */
  counted: Sums = { turns: 0, asked: 0, usage: NO_USAGE };
  sums: Sums = { turns: 0, asked: 0, usage: NO_USAGE };
  /** Milliseconds that segments have worked at least. */
  activeMs = 0;
  readonly calls = new Map<string, CallFact>();
  readonly interruptions = new Map<string, InterruptionFact>();
  readonly decisions = new Map<string, DecisionFact>();
  readonly standing = new Map<string, StandingFact>();
  /** How its own calls ended, and what they had to do with memory. */
  readonly memory = new Map<string, EndedCall>();
  /** The runs that its calls started. */
  readonly children = new Set<string>();
  /** What runs have used whose results it took, and that it did not start: a fork waits for those of its source. */
  taken: Usage = NO_USAGE;
  readonly answers = new Map<number, AnswerFact>();
  /** Digests of the tool lists that MCP servers gave. */
  readonly lists = new Map<string, string>();
  #startedAt: string | null = null;
  #copied = 0;
  #waits: boolean | null = null;

  /** Says how the log goes on where not all of it was read: by the state after its last event. */
  endsIn({ status, pending }: RunState): void {
    this.status = status === 'none' ? 'queued' : status;
    this.#waits = Object.keys(pending).length > 0;
  }

  /** Whether something that was asked for is not decided. */
  get waits(): boolean {
    if (this.#waits !== null) return this.#waits;
    for (const { decided } of this.interruptions.values()) if (decided === null) return true;
    return false;
  }

  /** Nothing of a run works that waits for a decision: its log has all that it did. */
  get isAtRest(): boolean {
    return this.status === 'paused' && this.waits;
  }

  /** Takes the next event of a log, which was checked. `digests`: of members of its payload that were not read. */
  take<K extends EventKind>(
    kind: K,
    data: EventData<K>,
    { seq, at }: { readonly seq: number; readonly at: string },
    digests: Place['digests'] = {},
  ): void {
    const own = seq > this.#copied;
    FACTS[kind]?.(this, data, { seq, at: own ? at : null, own, digests });
    // Builds before this one counted nothing of a segment that could not go on.
    if (kind === 'run.failed' && isStranded((data as EventData<'run.failed'>).error.message)) this.#startedAt = null;
    if (kind === 'run.forked') this.#copied = seq + (this.forked?.copied ?? 0);
    this.#time(kind, at, own);
  }

  #time(kind: EventKind, at: string, own: boolean): void {
    if (kind === 'segment.started') this.#startedAt = own ? at : null;
    if (!ENDS_SEGMENT.has(kind)) return;
    if (this.#startedAt !== null && own) this.activeMs += Date.parse(at) - Date.parse(this.#startedAt);
    this.#startedAt = null;
  }

  callOf(asked: EventData<'interruption.requested'>): CallFact | undefined {
    return asked.callId === null ? undefined : this.calls.get(asked.callId);
  }

  addUsage(usage: Usage, turns: number): void {
    this.sums = { ...this.sums, turns: this.sums.turns + turns, usage: addUsage(this.sums.usage, usage) };
  }

  say(interruption: string, fact: Omit<DecisionFact, 'interruption' | 'vote'>): void {
    const of = this.interruptions.get(interruption);
    const vote = (of?.votes ?? 0) + 1;
    if (of !== undefined) of.votes = vote;
    const id = vote === 1 ? `dec_${interruption}` : `dec_${interruption}_${vote}`;
    this.decisions.set(id, { interruption, vote, ...fact });
  }
}

const ENDS_SEGMENT: ReadonlySet<EventKind> = new Set([
  ...(['run.paused', 'segment.cut', 'segment.rebuilt'] as const),
  ...(['run.completed', 'run.failed', 'run.cancelled'] as const),
]);

interface Place {
  readonly seq: number;
  readonly at: string | null;
  /** Whether the run did it itself: what a fork took over, its source did. */
  readonly own: boolean;
  readonly digests: { readonly [member: string]: string };
}

type Take<K extends EventKind> = (facts: LoggedFacts, data: EventData<K>, place: Place) => void;

const over =
  (status: 'completed' | 'failed' | 'cancelled'): Take<'run.completed' | 'run.failed' | 'run.cancelled'> =>
  (facts, data, { at, digests }) => {
    facts.status = status;
    const output = 'output' in data ? (digests['output'] ?? digestOf(data.output)) : null;
    const error = 'error' in data ? canonical(data.error) : null;
    facts.end = { kind: `run.${status}`, output, error, at: at ?? '' };
  };

function saidOf({ message, edit, always }: Pick<EventData<'interruption.voted'>, 'message' | 'edit' | 'always'>) {
  return {
    message: message === null ? null : sha256(message),
    ...{ edit: digestOrNull(edit), always: digestOrNull(always) },
  };
}

const FACTS: { readonly [K in EventKind]?: Take<K> } = {
  'run.created': (facts, { input, grants, limits, metadata, ...rest }, { at, digests }) => {
    const large = { input: digests['input'] ?? digestOf(input), grants: digests['grants'] ?? digestOf(grants) };
    const small = { limits: digestOf(limits), metadata: digests['metadata'] ?? digestOf(metadata) };
    facts.created = { ...rest, ...large, ...small };
    facts.createdAt = at ?? '';
  },
  'session.loaded': (facts, data) => {
    facts.session = data;
  },
  'run.forked': (facts, data) => {
    facts.forked = data;
  },
  'segment.started': (facts, { segment }) => {
    facts.status = 'running';
    facts.segment = segment;
  },
  'segment.cut': (facts, { segment, state = null }) => {
    facts.keptState = state;
    facts.status = 'queued';
    facts.segment = segment + 1;
    facts.counted = facts.sums;
  },
  'segment.rebuilt': (facts, { segment }, { seq, own }) => {
    facts.segment = segment;
    if (!own) return;
    facts.rebuilt.push(seq);
    facts.rebuiltSegment = segment;
  },
  'run.paused': (facts, { segment, state = null }) => {
    facts.keptState = state;
    facts.status = 'paused';
    facts.segment = segment + 1;
    facts.counted = facts.sums;
  },
  'mcp.listed': (facts, { server, digest }) => {
    facts.lists.set(server, digest);
  },
  'model.requested': (facts, { turn }) => {
    facts.sums = { ...facts.sums, asked: turn };
  },
  'model.responded': (facts, { turn, model, route, usage, cost }, { at, own }) => {
    facts.addUsage(usage, 1);
    if (own) facts.answers.set(turn, { at, model, route, usage, cost });
  },
  'child.started': (facts, { childRunId }, { own }) => {
    if (own) facts.children.add(childRunId);
  },
  'child.ended': (facts, { childRunId, usage }, { own }) => {
    if (own && !facts.children.has(childRunId)) facts.taken = addUsage(facts.taken, usage);
    // What a fork took over counts as its own.
    if (own) return;
    facts.addUsage(usage, 0);
    facts.counted = { ...facts.counted, usage: addUsage(facts.counted.usage, usage) };
  },
  'call.checked': (facts, { callId, tool, toolVersion, effect, digest, arguments: args, checks }) => {
    const capabilities = digestOf(checks.map(({ capability }) => capability));
    const about = { tool, toolVersion, effect, digest, arguments: digestOf(args), capabilities };
    facts.calls.set(callId, { ...about, outcomes: null, ran: false });
  },
  'call.finished': (facts, { callId, outcome, given }, { own }) => {
    if (own) {
      const refused = outcome.type === 'refused';
      facts.memory.set(callId, { refused, note: refused ? null : (outcome.memory ?? null) });
    }
    const call = facts.calls.get(callId);
    // Logs of older builds do not say where a guardrail or scaffold put another outcome in place of what the tool gave.
    if (call === undefined || facts.created?.pinned === undefined) return;
    const said = digestOf(outcome);
    call.outcomes = own ? [given ?? said] : [said, given ?? said];
    call.ran = own && call.effect === 'unsafe' && outcome.type !== 'refused';
  },
  'interruption.requested': (facts, data, { at }) => {
    const asked = { ...data, text: sha256(data.text) };
    const call = facts.callOf(data);
    facts.interruptions.set(data.id, { asked, segment: facts.segment, at, call, votes: 0, decided: null });
  },
  'interruption.voted': (facts, { id, actor, ...said }, { at }) =>
    facts.say(id, { verdict: 'approve', actor, ...saidOf(said), value: digestOf(null), at }),
  'interruption.decided': (facts, { id, verdict, actor, value, ...said }, { at }) => {
    facts.say(id, { verdict, actor, ...saidOf(said), value: digestOf(value), at });
    const of = facts.interruptions.get(id);
    if (of !== undefined) of.decided = { verdict, at };
  },
  'standing_decision.made': (facts, made, { at }) => {
    facts.standing.set(made.id, { made, at, revoked: null });
  },
  'standing_decision.revoked': (facts, { id, actor }, { at }) => {
    const made = facts.standing.get(id);
    if (made !== undefined) made.revoked = { actor, at };
  },
  'run.cancel_requested': (facts, { reason }, { at }) => {
    facts.cancel = { reason, at: at ?? '' };
  },
  'run.completed': over('completed'),
  'run.failed': over('failed'),
  'run.cancelled': over('cancelled'),
};
