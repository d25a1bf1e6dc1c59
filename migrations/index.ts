import type { Knex } from 'knex';
import * as baseline from './0001-baseline.js';
import * as containerWorkers from './0002-container-workers.js';
import * as inbox from './0003-inbox.js';
import * as listsOfRuns from './0004-lists-of-runs.js';
import * as listsOfInterruptions from './0005-lists-of-interruptions.js';
import * as runRows from './0006-run-rows.js';
import * as tasks from './0007-tasks.js';
import * as batches from './0008-batches.js';
import * as accessByTarget from './0009-access-by-target.js';
import * as memory from './0010-memory.js';
import * as agentVersions from './0011-agent-versions.js';
import * as alerts from './0012-alerts.js';
import * as artifacts from './0013-artifacts.js';
import * as sessionLabels from './0014-session-labels.js';
import * as workerEngines from './0015-worker-engines.js';
import * as longHistories from './0016-long-histories.js';
import * as memoryEvidence from './0018-memory-evidence.js';
import * as workerOffer from './0019-worker-offers.js';
import * as packedEvents from './0020-packed-events.js';
import * as pulledImages from './0035-pulled-images.js';
import * as tasksByScore from './0036-tasks-by-score.js';
import * as webhooks from './0043-webhooks.js';
import * as memoryEmbeddings from './0050-memory-embeddings.js';
import * as forgottenDocuments from './memory/0055-forgotten-documents.js';
import * as changedEmbeddings from './memory/0062-changed-embeddings.js';
import * as webhookDeliveries from './ops/0056-webhook-deliveries.js';
import * as runDeadlines from './runs/0057-run-deadlines.js';
import * as pinsByList from './runs/0060-pins-by-list.js';

export interface Migration {
  readonly name: string;
  readonly up: (knex: Knex) => Promise<void>;
}

/** In order, forward only. A migration that was released is never changed; a new one is added at the end. */
export const MIGRATIONS: readonly Migration[] = [
  { name: '0001-baseline', up: baseline.up },
  { name: '0002-container-workers', up: containerWorkers.up },
  { name: '0003-inbox', up: inbox.up },
  { name: '0004-lists-of-runs', up: listsOfRuns.up },
  { name: '0005-lists-of-interruptions', up: listsOfInterruptions.up },
  { name: '0006-run-rows', up: runRows.up },
  { name: '0007-tasks', up: tasks.up },
  { name: '0008-batches', up: batches.up },
  { name: '0009-access-by-target', up: accessByTarget.up },
  { name: '0010-memory', up: memory.up },
  { name: '0011-agent-versions', up: agentVersions.up },
  { name: '0012-alerts', up: alerts.up },
  { name: '0013-artifacts', up: artifacts.up },
  { name: '0014-session-labels', up: sessionLabels.up },
  { name: '0015-worker-engines', up: workerEngines.up },
  { name: '0016-long-histories', up: longHistories.up },
  { name: '0018-memory-evidence', up: memoryEvidence.up },
  { name: '0019-worker-offers', up: workerOffer.up },
  { name: '0020-packed-events', up: packedEvents.up },
  { name: '0035-pulled-images', up: pulledImages.up },
  { name: '0036-tasks-by-score', up: tasksByScore.up },
  { name: '0043-webhooks', up: webhooks.up },
  { name: '0050-memory-embeddings', up: memoryEmbeddings.up },
  { name: '0055-forgotten-documents', up: forgottenDocuments.up },
  { name: '0056-webhook-deliveries', up: webhookDeliveries.up },
  { name: '0057-run-deadlines', up: runDeadlines.up },
  { name: '0060-pins-by-list', up: pinsByList.up },
  { name: '0062-changed-embeddings', up: changedEmbeddings.up },
];
