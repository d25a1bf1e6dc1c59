import type { KeptArtifacts } from '../artifacts/kept-artifacts.js';
import type { ErrorView } from '../errors/errors.js';
import type { InterruptionReason, InterruptionView } from '../interruptions/interruption.js';
import type { PlacedWait } from '../interruptions/wait.js';
import { digestOf, type JsonObject, type JsonValue } from '../json.js';
import type { TrustLabel } from '../tools/tool-memory.js';
import type { ContextChange } from './run-context.js';

/** Something that a segment ends to wait for. */
export interface Wait {
  /** Null: it belongs to no call, but to the run. */
  readonly callId: string | null;
  readonly tool: string | null;
  readonly agent: string;
  readonly arguments: JsonValue;
  readonly digest: string;
  readonly reason: InterruptionReason;
  readonly text: string;
  /** Milliseconds; null: never; undefined: the engine's default. */
  readonly expiresInMs: number | null | undefined;
  /** What the body of the call, or the run, waits for; null for approvals. `memo`: digest of what the tool keeps, of calls alone. */
  readonly inside: (PlacedWait & { readonly dueAt: string | null; readonly memo?: string | null }) | null;
  /** What an approval of it is bound to beside the digest, and how many people it takes. */
  readonly approval?: ApprovalTerms;
  /** Key of the event that it comes from. */
  readonly parentKey: string;
}

export interface ApprovalTerms {
  readonly toolVersion: string;
  /** What the call needs, normalised. */
  readonly capabilities: readonly string[];
  readonly required: number;
  /** Whether someone else than who asked for the run must approve. */
  readonly separate: boolean;
}

/** How a segment ends. */
export type Ending =
  | {
      readonly type: 'completed';
      readonly output: JsonValue;
      /** What the run adds to its session; null: it is in none. */
      readonly produced: readonly JsonObject[] | null;
      /** Labels of what it read from outside, which its session gets. */
      readonly labels?: readonly TrustLabel[];
    }
  | {
      readonly type: 'failed';
      readonly error: ErrorView;
      /** What was kept of the attempt at a task; absent: the task asks for nothing, or its verification says it. */
      readonly artifacts?: KeptArtifacts;
    }
  | { readonly type: 'cancelled'; readonly artifacts?: KeptArtifacts }
  | {
      readonly type: 'paused';
      readonly waits: readonly Wait[];
      readonly state: string;
      /** Interruptions that are decided but could not be applied yet: they go with the run into its next segment. */
      readonly carried: readonly string[];
      /** The context of the run, if the segment changed it. */
      readonly context?: ContextChange;
    }
  | { readonly type: 'cut'; readonly state: string; readonly context?: ContextChange };

/** The same wait of the same segment always has the same id, so that a replay asks for nothing new. */
export const interruptionId = (runId: string, segment: number, wait: Wait): string =>
  `int_${digestOf([runId, segment, wait.callId, wait.reason]).slice('sha256:'.length, 'sha256:'.length + 32)}`;

const VERDICTS: Record<InterruptionReason, InterruptionView['verdicts']> = {
  tool_rule: ['approve', 'reject'],
  grant_ask: ['approve', 'reject'],
  unknown_effect: ['approve', 'reject', 'answer'],
  question: ['answer', 'reject'],
  budget: ['approve', 'reject'],
  // No one decides these: time, an event or the other run does, or the run is cancelled.
  timer: [],
  event: [],
  child_run: [],
};
export const verdictsFor = (reason: InterruptionReason): InterruptionView['verdicts'] => VERDICTS[reason];
