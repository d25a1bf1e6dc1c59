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
import { withoutKnownSecretsIn } from '../../src/models/secrets/known-secrets.js';

/** The state of a run as a call finds it. */
export interface FoundState {
  readonly seen: AgentState;
  readonly problemOf: StateProblem;
}

/** What a body reads of the clock and makes of the state, to be kept with the outcome of its call. */
export class CallNotes {
  readonly #clock: () => number;
  readonly #recorded: readonly number[];
  readonly #isKept: boolean;
  readonly #state: CallState | null;
  readonly #times: number[] = [];
  /** What the body gets as `context.state`. */
  readonly state: ToolState;

  /** `recorded`: what the clock gave to an execution before this one, which repeats it. */
  constructor(
    spec: ToolSpec,
    { agent, state }: { readonly agent: string; readonly state: FoundState | null },
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
  }

  /** What the body gets as `context.now`. */
  readonly now = (): number => {
    const time = this.#recorded[this.#times.length] ?? this.#clock();
    if (this.#isKept && this.#times.length < MOST_TIMES) this.#times.push(time);
    return time;
  };

  /** The outcome with what was noted. A call that failed changes no state. */
  in(outcome: CallOutcome): CallOutcome {
    if (outcome.type === 'refused') return outcome;
    const times = this.#times.length === 0 ? {} : { times: [...this.#times] };
    if (outcome.type === 'error') return { ...outcome, ...times };
    const change = this.#state?.change ?? null;
    return { ...outcome, ...times, ...(change && { state: stateChange.parse(withoutKnownSecretsIn(change)) }) };
  }
}
