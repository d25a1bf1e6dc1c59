import type { Client } from '../client.js';
import { connect } from '../connect.js';

/** What may stand at a place of a command line, and what it is. */
export interface Candidate {
  readonly value: string;
  readonly about: string;
}

const TIMEOUT_MS = 1500;
const MOST = 100;

type Source = (client: Client, command: string) => Promise<readonly Candidate[]>;

const options = { timeoutMs: TIMEOUT_MS };
const page = { limit: MOST };

const agents: Source = async (client) =>
  (await client.listAgents(page, options)).items.map(({ name, tools }) => ({ value: name, about: tools.join(', ') }));

/** Values that a server has now. */
const SOURCES = {
  agents,
  runs: async (client, command) => {
    // Only these can be tried again.
    const status = command === 'retry' ? 'failed' : undefined;
    const { items } = await client.listRuns({ ...page, status }, options);
    return items.map((run) => ({ value: run.id, about: `${run.status} ${run.agent} ${run.createdAt}` }));
  },
  interruptions: async (client) =>
    (await client.listInterruptions({ ...page, status: 'pending' }, options)).items.map(({ id, tool, reason }) => ({
      value: id,
      about: `${tool ?? ''} ${reason.text}`.trim(),
    })),
  tasks: async (client) =>
    (await client.listTasks(page, options)).items.map(({ id, status }) => ({ value: id, about: status })),
  tools: async (client) => {
    const { items } = await client.listAgents(page, options);
    return [...new Set(items.flatMap(({ tools }) => tools))].map((value) => ({ value, about: '' }));
  },
  workers: async (client) =>
    (await client.listWorkers(page, options)).items.map(({ id, status }) => ({ value: id, about: status })),
  exports: async (client) =>
    (await client.listExports(page, options)).items.map(({ id, status }) => ({ value: id, about: status })),
  batches: async (client) =>
    (await client.listBatches(page, options)).items.map(({ key, tasks }) => ({ value: key, about: `${tasks} tasks` })),
  sessions: async (client) =>
    (await client.listSessions(page, options)).items.map(({ id }) => ({ value: id, about: '' })),
} satisfies { readonly [kind: string]: Source };

export type LiveKind = keyof typeof SOURCES;
export type LiveValues = (kind: LiveKind, command: string) => Promise<readonly Candidate[]>;

export const isLive = (kind: string): kind is LiveKind => Object.hasOwn(SOURCES, kind);

/** Asks the server. Where none answers soon, or none may be asked, there are none: a shell shows no errors while it completes. */
export const liveValues: LiveValues = async (kind, command) => {
  try {
    return await SOURCES[kind](connect(), command);
  } catch {
    return [];
  }
};
