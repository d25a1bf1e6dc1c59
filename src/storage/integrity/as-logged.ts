import { HoldfastError } from '../../core/errors/errors.js';
import { canonical } from '../../core/json.js';
import { draftOf, type KeyedEvent } from '../../core/log/recording.js';
import type { RunRow } from '../runs/run-row.js';

/**
 * Returns the row of a run with what the first events of its log say that the run was started with. What is made of a run begins with
 * that, because the row may have been changed. Logs of older builds do not have all of it. Throws `log_broken`.
 */
export function asLogged(row: RunRow, log: readonly KeyedEvent[]): RunRow {
  const [first, second] = log.slice(0, 2).map(draftOf);
  if (first?.kind !== 'run.created')
    throw new HoldfastError('log_broken', `The log of run ${row.id} does not begin with run.created.`);
  const { agent, agentVersion, agentHash, input, grants, limits, metadata, pinned } = first.data;
  const model = second?.kind === 'run.forked' ? second.data.model : null;
  const placed =
    pinned === undefined
      ? {}
      : { priority: pinned.priority, stream: pinned.stream, scaffold: pinned.scaffold, task_id: pinned.taskId };
  return {
    ...{ ...row, ...placed, agent, agent_version: agentVersion, agent_hash: agentHash, model },
    ...{ input: canonical(input), grants: canonical(grants) },
    ...{ limits: canonical(limits), metadata: canonical(metadata) },
  };
}
