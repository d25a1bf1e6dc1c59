import type { Knex } from 'knex';
import * as agentsAndRuns from './0001-agents-and-runs.js';
import * as events from './0002-events.js';
import * as callsAndInterruptions from './0003-calls-and-interruptions.js';
import * as snapshots from './0004-snapshots.js';
import * as doors from './0005-doors.js';
import * as workers from './0006-workers.js';
import * as decisions from './0007-decisions.js';
import * as waits from './0008-waits.js';
import * as sessions from './0009-sessions.js';
import * as childRuns from './0010-child-runs.js';
import * as forks from './0011-forks.js';
import * as mcpLists from './0012-mcp-lists.js';
import * as runStream from './0013-run-stream.js';
import * as workerTakeover from './0014-worker-takeover.js';
import * as dispatch from './0015-dispatch.js';
import * as deploys from './0016-deploys.js';
import * as whatIsAtWork from './0017-what-is-at-work.js';
import * as charges from './0018-charges.js';
import * as budgets from './0019-budgets.js';
import * as rewards from './0020-rewards.js';
import * as erasures from './0021-erasures.js';
import * as retention from './0022-retention.js';
import * as logEntries from './0023-log-entries.js';
import * as exported from './0024-exports.js';
import * as toolMarks from './0025-tool-marks.js';
import * as foldSnapshots from './0026-fold-snapshots.js';
import * as trajectories from './0027-trajectories.js';
import * as subjects from './0028-subjects.js';
import * as exportRetention from './0029-export-retention.js';
import * as exportedRuns from './0030-exported-runs.js';
import * as exportSending from './0031-export-sending.js';
import * as environments from './0032-environments.js';
import * as environmentPurposes from './0033-environment-purposes.js';
import * as tasks from './0034-tasks.js';
import * as runsOfTasks from './0035-runs-of-tasks.js';
import * as systemEvents from './0036-system-events.js';
import * as runScaffold from './0037-run-scaffold.js';
import * as environmentSnapshots from './0038-environment-snapshots.js';
import * as taskRetries from './0039-task-retries.js';
import * as taskRequeues from './0041-task-requeues.js';

export interface Migration {
  readonly name: string;
  readonly up: (knex: Knex) => Promise<void>;
}

/** In order, forward only. A migration that was released is never changed; a new one is added at the end. */
export const MIGRATIONS: readonly Migration[] = [
  { name: '0001-agents-and-runs', up: agentsAndRuns.up },
  { name: '0002-events', up: events.up },
  { name: '0003-calls-and-interruptions', up: callsAndInterruptions.up },
  { name: '0004-snapshots', up: snapshots.up },
  { name: '0005-doors', up: doors.up },
  { name: '0006-workers', up: workers.up },
  { name: '0007-decisions', up: decisions.up },
  { name: '0008-waits', up: waits.up },
  { name: '0009-sessions', up: sessions.up },
  { name: '0010-child-runs', up: childRuns.up },
  { name: '0011-forks', up: forks.up },
  { name: '0012-mcp-lists', up: mcpLists.up },
  { name: '0013-run-stream', up: runStream.up },
  { name: '0014-worker-takeover', up: workerTakeover.up },
  { name: '0015-dispatch', up: dispatch.up },
  { name: '0016-deploys', up: deploys.up },
  { name: '0017-what-is-at-work', up: whatIsAtWork.up },
  { name: '0018-charges', up: charges.up },
  { name: '0019-budgets', up: budgets.up },
  { name: '0020-rewards', up: rewards.up },
  { name: '0021-erasures', up: erasures.up },
  { name: '0022-retention', up: retention.up },
  { name: '0023-log-entries', up: logEntries.up },
  { name: '0024-exports', up: exported.up },
  { name: '0025-tool-marks', up: toolMarks.up },
  { name: '0026-fold-snapshots', up: foldSnapshots.up },
  { name: '0027-trajectories', up: trajectories.up },
  { name: '0028-subjects', up: subjects.up },
  { name: '0029-export-retention', up: exportRetention.up },
  { name: '0030-exported-runs', up: exportedRuns.up },
  { name: '0031-export-sending', up: exportSending.up },
  { name: '0032-environments', up: environments.up },
  { name: '0033-environment-purposes', up: environmentPurposes.up },
  { name: '0034-tasks', up: tasks.up },
  { name: '0035-runs-of-tasks', up: runsOfTasks.up },
  { name: '0036-system-events', up: systemEvents.up },
  { name: '0037-run-scaffold', up: runScaffold.up },
  { name: '0038-environment-snapshots', up: environmentSnapshots.up },
  { name: '0039-task-retries', up: taskRetries.up },
  { name: '0041-task-requeues', up: taskRequeues.up },
];
