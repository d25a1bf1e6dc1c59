import { pausedRunsOf } from '../../storage/evolution/agent-versions.js';
import type { ReplayWaiting } from '../evolution/trial.js';
import { readStored, replayStored } from './replay-run.js';
import { grantsToday } from './replayed-run.js';

const REPLAYED_MOST = 20;

/** What replays of the newest paused runs say under a patched definition. */
export const replayWaiting: ReplayWaiting = async (context, patched, tenant, signal) => {
  const { knex } = context.stepContext;
  const agents = new Map([...context.agents, [patched.name, patched]]);
  const found = { replayed: 0, same: 0, differ: 0, refused: 0 };
  for (const id of await pausedRunsOf(knex, tenant, patched.name, REPLAYED_MOST)) {
    const { result } = await replayStored(agents, await readStored(knex, tenant, id, signal), grantsToday, { signal });
    found.replayed += 1;
    if (result === 'same') found.same += 1;
    else if (result === 'diverged') found.differ += 1;
    else found.refused += 1;
  }
  return found;
};
