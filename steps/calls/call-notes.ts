import { HoldfastError } from '../../src/core/errors/errors.js';
import type { Settlement } from '../../src/core/interruptions/settlement.js';
import type { Interruption } from '../../src/core/interruptions/wait.js';
import { isObject, type JsonValue } from '../../src/core/json.js';
import { type CallOutcome, MOST_TIMES } from '../../src/core/log/call-outcome.js';
import {
  type AgentState,
  CallState,
  noState,
  type StateProblem,
  stateChange,
  type ToolState,
} from '../../src/core/tools/agent-state.js';
import type { ToolSpec } from '../../src/core/tools/tool.js';
import {
  LiveMemory,
  MEMORY_LIMITS,
  type MemoryNote,
  type MemoryRef,
  memoryNote,
} from '../../src/core/tools/tool-memory.js';
import { withoutKnownSecretsIn } from '../../src/models/secrets/known-secrets.js';

/**
 * What a body read of memory before it waits stands in its memo, whose digest the log has: what goes on after the wait may say the same
 * words, and has their labels.
 */
const NOTED = 'holdfast:memory';

/** A memo with what the body read; null: it read nothing. */
const notedMemo = (memo: JsonValue, note: MemoryNote | null): JsonValue =>
  note === null ? memo : { [NOTED]: { ...note }, memo };

/** The memo as the tool gave it, and what its body had read. */
function readMemo(memo: JsonValue): { readonly memo: JsonValue; readonly note: MemoryNote | null } {
  if (!isObject(memo) || !Object.hasOwn(memo, NOTED)) return { memo, note: null };
  const { [NOTED]: noted, memo: own = null } = memo;
  return { memo: own, note: memoryNote.safeParse(noted).data ?? null };
}

/** A settlement as the tool gets it. `note` hears what its body had read before the wait. */
export function settlementFor(settlement: Settlement | null, note: (note: MemoryNote) => void): Settlement | null {
  if (settlement === null) return null;
  const read = readMemo(settlement.memo);
  if (read.note !== null) note(read.note);
  return { ...settlement, memo: read.memo };
}

/** The outcome of a call whose tool does not go on after its wait, with what its body had read before. */
export function withNoted(outcome: CallOutcome, { memo }: Settlement): CallOutcome {
  const { note } = readMemo(memo);
  return note === null || outcome.type === 'refused' ? outcome : { ...outcome, memory: { ...note, ...outcome.memory } };
}

/** The state of a run as a call finds it. */
export interface FoundState {
  readonly seen: AgentState;
  readonly problemOf: StateProblem;
}

/** What a call finds of its run. */
interface FoundByCall {
  readonly agent: string;
  readonly state: FoundState | null;
  /** Null: nothing is noted of memory. */
  readonly memory: object | null;
}

/** What a body reads of the clock and makes of the state, to be kept with the outcome of its call. */
export class CallNotes {
  readonly #clock: () => number;
  readonly #recorded: readonly number[];
  readonly #isKept: boolean;
  readonly #state: CallState | null;
  readonly #times: number[] = [];
  readonly #memory = new LiveMemory();
  readonly #wrote: MemoryRef[] = [];
  readonly #writing: Promise<unknown>[] = [];
  #read = false;
  #isOver = false;
  /** What the body gets as `context.state`. */
  readonly state: ToolState;

  /** `recorded`: what the clock gave to an execution before this one, which repeats it. */
  constructor(
    spec: ToolSpec,
    { agent, state, memory }: FoundByCall,
    clock: () => number,
    recorded: readonly number[] = [],
  ) {
    this.#clock = clock;
    this.#recorded = recorded;
    // A body that works apart has a clock of its own.
    this.#isKept = spec.isolated === undefined;
    const own = spec.stateProblem === undefined ? [] : [spec.stateProblem];
    this.#state = state === null ? null : new CallState(state.seen, [state.problemOf, ...own]);
    this.state = this.#state?.forTool ?? noState(`The agent ${agent}`);
    if (memory !== null && spec.label !== undefined) this.#memory.add({ labels: [spec.label] });
  }

  /** What the body gets as `context.now`. */
  readonly now = (): number => {
    const time = this.#recorded[this.#times.length] ?? this.#clock();
    if (this.#isKept && this.#times.length < MOST_TIMES) this.#times.push(time);
    return time;
  };

  /** Hears what the body reads and writes of memory. */
  readonly note = (note: MemoryNote): void => {
    this.#memory.add(note);
    this.#read ||= note.read !== undefined;
    this.#wrote.push(...(note.wrote ?? []));
  };

  /** Hears of a write of memory as it begins. */
  readonly writing = <T>(write: Promise<T>): Promise<T> => {
    this.#writing.push(write.catch(() => undefined));
    return write;
  };

  /** Whether the body wrote memory. A write that began before its end is waited for, so that the log has it. */
  async hasWritten(): Promise<boolean> {
    await Promise.all(this.#writing);
    return this.#writing.length > 0;
  }

  /** The body has ended, timed out or asked to wait: what it changes from here on is refused. */
  end(): void {
    this.#isOver = true;
    this.#state?.end();
  }

  /** Refuses what a body reads or writes of memory after its end. Throws `memory_invalid`. */
  readonly assertOpen = (): void => {
    if (!this.#isOver) return;
    throw new HoldfastError('memory_invalid', 'The call is over: what its tool does now would be in no outcome.');
  };

  /** A wait that the body asks for, with what it has read of memory so far. */
  waits(asked: Interruption): Interruption {
    return { ...asked, memo: notedMemo(asked.memo, this.#read ? this.#memory.kept : null) };
  }

  /** The outcome with what was noted. A call that failed changes no state. */
  in(outcome: CallOutcome): CallOutcome {
    if (outcome.type === 'refused') return outcome;
    const noted = { ...(this.#times.length === 0 ? {} : { times: [...this.#times] }), ...this.#memoryNoted };
    if (outcome.type === 'error') return { ...outcome, ...noted };
    const change = this.#state?.change ?? null;
    return { ...outcome, ...noted, ...(change && { state: stateChange.parse(withoutKnownSecretsIn(change)) }) };
  }

  get #memoryNoted(): { readonly memory?: MemoryNote } {
    const { read, labels } = this.#memory;
    const wrote = this.#wrote.slice(-MEMORY_LIMITS.read);
    if (read.length + labels.length + wrote.length === 0) return {};
    return {
      memory: {
        ...(read.length === 0 ? {} : { read: [...read] }),
        ...(wrote.length === 0 ? {} : { wrote }),
        ...(labels.length === 0 ? {} : { labels: [...labels] }),
      },
    };
  }
}
