import type { McpLists, StepContext } from '../../../steps/context.js';
import type { ReplayPlace } from '../../../workflows/replay/replay-log.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { UNMETERED } from '../../metrics/meter.js';
import { noDatabase } from '../../storage/database/no-database.js';
import { McpConnections } from '../../tools/mcp/mcp-connections.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';

const refused = (what: string): HoldfastError => new HoldfastError('internal', `A replay ${what}.`);

/** Servers that nobody reaches. */
class NoConnections extends McpConnections {
  override list(): Promise<never> {
    return Promise.reject(refused('lists no tools of a server'));
  }

  override call(): Promise<never> {
    return Promise.reject(refused('calls no server'));
  }
}

/**
 * A world without effect: it has no database, no queue, no servers and no prices, so that what is executed in it can change
 * nothing, whatever it tries. `lists` is what it knows of servers.
 */
export function replayPlace(agents: ReadonlyMap<string, RegisteredAgent>, lists: McpLists): ReplayPlace {
  const nothing = async (): Promise<never> => {
    throw refused('enqueues nothing');
  };
  const ctx: StepContext = {
    knex: noDatabase(),
    queue: { enqueue: nothing, withdraw: nothing, remove: nothing, wake: () => undefined },
    worker: { id: 'replay', epoch: 0 },
    lease: { isHeld: async () => true, confirm: async () => true },
    ...{ now: () => 0, newId: () => 'replay', changed: () => undefined, stepsKeepOutcomes: () => false },
    ...{ prices: { priceOf: () => null }, budgets: { onExhausted: 'fail', outputTokens: 1 }, approvalTimeoutMs: null },
    ...{ mcp: new NoConnections(), mcpLists: lists, exportDir: '', buckets: null, environments: null },
    ...{ rewards: new Map(), readSecrets: async () => [], crashLimit: 1 },
    metrics: UNMETERED,
  };
  return { ctx, agents };
}
