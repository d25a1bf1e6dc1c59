import { executeAgain } from '../../../steps/calls/execute-again.js';
import type { ReplayFindings } from '../../../workflows/replay/replay-findings.js';
import type { ReplayedRun } from '../../../workflows/replay/replay-log.js';
import { canonical } from '../../core/json.js';
import { EVENT_DATA } from '../../core/log/event.js';
import type { KeyedEvent } from '../../core/log/recording.js';
import type { ToolMark } from '../../storage/replay/tool-marks.js';

/** How calls of deterministic tools are executed again, and who hears of those that differ. */
export interface Repeat {
  readonly now: () => number;
  /** Ends it between two calls, and gives one up that works. */
  readonly signal: AbortSignal;
  readonly found: (mark: ToolMark) => void;
}

/** Executes them one after the other, and holds what they give against the log. Returns how many were. Throws why it was given up. */
export async function repeatCalls(
  { run, log }: Pick<ReplayedRun, 'run' | 'log'>,
  findings: ReplayFindings,
  { now, signal, found }: Repeat,
): Promise<number> {
  const edited = editedCalls(log);
  let executed = 0;
  for (const { call, outcome, key, seq } of findings.repeatable) {
    const { callId, spec } = call;
    if (edited.has(callId) || !findings.isLookedAt(seq)) continue;
    const again = await executeAgain(call, run, now, signal);
    signal.throwIfAborted();
    executed++;
    if (again === null) findings.leaveOut(`${spec.name} (${callId}), which gave nothing to compare within its time`);
    if (again === null || canonical(again) === canonical(outcome)) continue;
    const what = `call.finished of ${spec.name} (${callId}), executed again`;
    findings.add({ seq, key, what, field: '/outcome', expected: outcome, actual: again });
    found({ tool: spec.name, toolVersion: spec.version, runId: run.id, seq });
  }
  findings.sort();
  return executed;
}

/** Calls whose outcome somebody has put in the place of what the tool gave. */
function editedCalls(log: readonly KeyedEvent[]): ReadonlySet<unknown> {
  const edits = log.flatMap(({ kind, data }) =>
    kind === 'run.forked' ? (EVENT_DATA['run.forked'].safeParse(data).data?.edits ?? []) : [],
  );
  return new Set(edits.map((edit) => edit['callId']));
}
