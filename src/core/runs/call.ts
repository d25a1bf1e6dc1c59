import { HoldfastError } from '../errors/errors.js';
import { digestOf, type JsonValue } from '../json.js';
import type { CallOutcome } from '../log/call-outcome.js';
import type { Effect } from '../tools/tool.js';

/** What a decision about a call is bound to. A change of any part makes it another call, which needs another decision. */
export const callDigest = (call: {
  readonly runId: string;
  readonly callId: string;
  readonly tool: string;
  readonly toolVersion: string;
  readonly arguments: JsonValue;
  readonly policyVersion: string;
}): string => {
  const { arguments: args, callId, policyVersion, runId, tool, toolVersion } = call;
  // In the order of their names, as they are written.
  return digestOf({ arguments: args, callId, policyVersion, runId, tool, toolVersion });
};

export interface CallFacts {
  readonly effect: Effect;
  /** What the run knows of the call; null: nothing, it was never begun. */
  readonly record: { readonly execution: string; readonly outcome: CallOutcome | null; readonly waits: boolean } | null;
  /** This execution of the segment. */
  readonly execution: string;
  /** A person or a probe said that it did not happen, or the tool says that it may be repeated. */
  readonly mayRepeat: boolean;
  /** What it waited for is settled. */
  readonly settled: boolean;
}

/**
 * Whether a call executes. `known`: its outcome is there. `waits`: its body said that it must wait. `unknown`: it was begun by an execution that is gone, its effect
 * cannot be repeated blindly, and no one knows whether it happened.
 */
export function judgeCall(facts: CallFacts): 'execute' | 'known' | 'waits' | 'unknown' {
  const { record, effect, execution, mayRepeat } = facts;
  if (record === null) return 'execute';
  if (record.outcome !== null) return 'known';
  if (record.waits) return facts.settled ? 'execute' : 'waits';
  if (effect !== 'unsafe' || record.execution === execution || mayRepeat) return 'execute';
  return 'unknown';
}

const WHAT_CAME = {
  crash: 'was begun, then its process died',
  timeout: 'was begun and did not end in its time',
  threw: 'was begun and threw where no one waited for it',
  lost: 'was begun, then the connection to its server was lost',
  stopped: 'was begun, then its container stopped',
  ended: 'was begun, then the worker that ran its body ended',
} as const;

/** The sentence that a person reads about an unsafe call of unknown effect. */
export const unknownEffectText = (tool: string, why: keyof typeof WHAT_CAME, said = ''): string =>
  `${tool} ${WHAT_CAME[why]}${said === '' ? '' : ` (${said.slice(0, 1000).toWellFormed()})`}: this may have happened. Approve to run it (again), answer with its result if it did happen, or reject to go on without it.`;

/** Why a call waits whose plain SDK tool says that it needs an approval. */
export const approvalText = (tool: string): string => `${tool} needs an approval.`;

/** Thrown by a body that has sent its call and cannot say what became of it. */
export class EffectUnknown extends Error {
  readonly why: 'lost' | 'stopped';

  constructor(options: { readonly cause?: unknown; readonly why?: 'lost' | 'stopped' } = {}) {
    super('the call was sent, and no answer came', options);
    this.name = 'EffectUnknown';
    this.why = options.why ?? 'lost';
  }
}

/** Thrown in place of a body that did not come to its end: its thread or process was ended, or threw where no one waited for it. */
export class BodyLost extends HoldfastError {
  constructor(code: 'tool_memory' | 'tool_cpu' | 'tool_exited' | 'tool_failed', message: string) {
    super(code, message);
    this.name = 'BodyLost';
  }
}
