import type { JsonValue } from '../core/json.js';
import type { CallOutcome } from '../core/log/call-outcome.js';
import { EVENT_DATA, type RunEvent } from '../core/log/event.js';

/** A call of a tool, as the log has it. */
export interface TestCall {
  readonly tool: string;
  /** After an edit of a person: the edited ones. */
  readonly arguments: JsonValue;
  /** What the grants and the rules of the tool said at first. */
  readonly decision: 'allow' | 'ask' | 'deny' | 'invalid';
  /** Null: it has not ended. */
  readonly outcome: CallOutcome | null;
}

/** The calls in a log, in the order in which they were checked. A payload that was erased counts for none. */
export function callsIn(events: readonly RunEvent[]): readonly TestCall[] {
  const calls = new Map<string, TestCall>();
  for (const { kind, data } of events) {
    if (data === null) continue;
    if (kind === 'call.checked') {
      const { callId, tool, arguments: args, decision } = EVENT_DATA[kind].parse(data);
      const before = calls.get(callId);
      calls.set(callId, { tool, arguments: args, decision: before?.decision ?? decision, outcome: null });
    }
    if (kind === 'call.finished') {
      const { callId, outcome } = EVENT_DATA[kind].parse(data);
      const call = calls.get(callId);
      if (call !== undefined) calls.set(callId, { ...call, outcome });
    }
  }
  return [...calls.values()];
}
