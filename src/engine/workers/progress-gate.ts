import type { StepGate } from '../../../workflows/segment-context.js';
import type { RunningSegments } from './running-segments.js';

/** A gate that hears of each step when it begins and when it ends, and of runs that wait for their turn. */
export const progressGate = (gate: StepGate, running: Pick<RunningSegments, 'waits' | 'moved'>): StepGate => ({
  enter: async (runId, alone, signal) => {
    running.waits(runId);
    const leave = await gate.enter(runId, alone, signal);
    running.moved(runId);
    return () => {
      running.moved(runId);
      leave();
    };
  },
});
