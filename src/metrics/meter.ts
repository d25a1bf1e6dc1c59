import type { Metrics } from './metrics.js';

/** What steps and the engine tell of what they did. */
export type Meter = Pick<
  Metrics,
  | 'taskSubmitted'
  | 'taskEnded'
  | 'attempted'
  | 'answered'
  | 'executed'
  | 'runStarted'
  | 'runEnded'
  | 'imageRemoved'
  | 'takenOver'
  | 'requeued'
  | 'stranded'
  | 'stalled'
>;

const nothing = (): void => {};

/** Of what is not counted: a replay does nothing. */
export const UNMETERED: Meter = {
  ...{ attempted: nothing, answered: nothing, executed: nothing, runStarted: nothing, runEnded: nothing },
  ...{ taskSubmitted: nothing, taskEnded: nothing },
  ...{ imageRemoved: nothing, takenOver: nothing, requeued: nothing, stranded: nothing, stalled: nothing },
};
