import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Family } from '../../src/core/exports/atif.js';
import { foldConversation } from '../../src/core/exports/conversation-fold.js';
import type { EventData, RunEvent } from '../../src/core/log/event.js';
import type { RunStatus } from '../../src/core/runs/run.js';
import { inOneGo } from '../harness/in-one-go.js';

/** Runs of the golden logs, as an export reads them. */

const FOLDER = join(import.meta.dirname, '../golden');
const ENDS: { readonly [kind: string]: RunStatus } = {
  'run.completed': 'completed',
  'run.failed': 'failed',
  'run.cancelled': 'cancelled',
};

export const goldenLogs = (): RunEvent[][] =>
  readdirSync(FOLDER)
    .filter((name) => name.startsWith('event-logs-v1'))
    .sort()
    .flatMap((name) =>
      (JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as { events: RunEvent[] }[]).map(({ events }) => events),
    );

const dataOf = <K extends 'run.created' | 'run.completed'>(event: RunEvent | undefined): EventData<K> =>
  event?.data as EventData<K>;

/** A run by its log alone. */
export function runOf(events: readonly RunEvent[]) {
  const created = dataOf<'run.created'>(events[0]);
  const end = events.find(({ kind }) => ENDS[kind] !== undefined);
  return {
    ...{ id: events[0]?.runId ?? '', agent: created.agent, agentVersion: created.agentVersion, input: created.input },
    status: ENDS[end?.kind ?? ''] ?? 'running',
    output: end?.kind === 'run.completed' ? dataOf<'run.completed'>(end).output : null,
    ...{ error: null, parentRunId: null, costUsd: null, metadata: created.metadata },
    ...{ usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } },
    ...{ createdAt: events[0]?.at ?? '', completedAt: end?.at ?? null },
  };
}

export function familyOf(events: readonly RunEvent[]): Family | null {
  const conversation = inOneGo(foldConversation(runOf(events), events));
  return conversation === null ? null : { conversation, prompts: new Map(), children: new Map() };
}
