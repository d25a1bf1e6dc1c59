import { type Caller, LOCAL_CALLER } from '../core/caller.js';
import type { InterruptionView } from '../core/interruptions/interruption.js';

/** People who decide where a command executes runs by itself. */
const PEOPLE: readonly Caller[] = ['first reviewer', 'second reviewer', 'third reviewer'].map((actor) => ({
  ...LOCAL_CALLER,
  actor,
}));

/** Asks for the runs. */
export const [REVIEWER = LOCAL_CALLER] = PEOPLE;

/** Those who approve it: as many as it needs, none of them the requester where they are separated. */
export const approversOf = (item: Pick<InterruptionView, 'separateRequester' | 'requiredApprovals'>) =>
  PEOPLE.slice(item.separateRequester ? 1 : 0).slice(0, item.requiredApprovals);
