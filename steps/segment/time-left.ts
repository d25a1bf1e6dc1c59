import type { RunRow } from '../../src/storage/runs/run-row.js';

/**
 * What is left of a run's time, in milliseconds: of its own bound, and of what the run above it had left when it was started.
 * What runs below it worked counts. Null: no bound.
 */
export function timeLeftMs(run: RunRow, maxDurationMs: number | null, nowMs: number): number | null {
  const inherited = run.time_left_ms === null ? null : Number(run.time_left_ms);
  const bound =
    maxDurationMs === null || inherited === null ? (maxDurationMs ?? inherited) : Math.min(maxDurationMs, inherited);
  if (bound === null) return null;
  const present = Math.max(0, nowMs - (run.segment_started_at?.getTime() ?? nowMs));
  return Math.max(0, bound - Number(run.active_ms) - Number(run.child_active_ms) - present);
}
