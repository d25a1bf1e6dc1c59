import { AsyncLocalStorage } from 'node:async_hooks';
import { Agent, type FunctionTool, type MCPServer, type RunContext, UserError } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { serverLabel } from '../../src/core/tools/mcp.js';
import { currentSegment, type SegmentContext } from '../segment-context.js';
import {
  type McpSource,
  mcpSourceOf,
  type Offer,
  offeredTools,
  setMcpSource,
  standInFor,
} from '../tool-calls/mcp-tools.js';
import { overrideProperty } from './patch-agent.js';
import { assertMethod } from './sdk-internals.js';

const standIns = new AsyncLocalStorage<{ readonly agent: Agent; readonly servers: MCPServer[] }>();
const instrumented = new WeakSet<Agent>();

/** While the SDK makes function tools of an agent's servers in a segment, the agent has their stand-ins. */
function watchServers(agent: Agent): void {
  if (instrumented.has(agent)) return;
  instrumented.add(agent);
  overrideProperty(agent, 'mcpServers', (servers) => {
    const present = standIns.getStore();
    return present?.agent === agent ? present.servers : servers;
  });
}

let installed = false;

/**
 * Patches how the SDK gets the tools of MCP servers. Inside a segment it offers what the run was given, whatever
 * the server says now, and each tool reaches its server only from within a guarded call. Naming, conversion of schemas and
 * refusal of duplicates stay the SDK's.
 */
export function patchMcp(): void {
  if (installed) return;
  const { getMcpTools } = Agent.prototype;
  assertMethod('Agent.prototype.getMcpTools', getMcpTools);
  Agent.prototype.getMcpTools = async function durableMcpTools(this: Agent, ...args: Parameters<typeof getMcpTools>) {
    const scope = currentSegment();
    if (typeof scope !== 'object' || this.mcpServers.length === 0) return getMcpTools.apply(this, args);
    watchServers(this);
    const offers = await offersOf(scope, this, args[0]);
    const servers = offers.map((offer) => standInFor(scope, offer));
    const tools = await named(this, () => standIns.run({ agent: this, servers }, () => getMcpTools.apply(this, args)));
    const origins = offers.flatMap(({ server, label, definitions }) =>
      definitions.map((definition): McpSource => ({ server, label, definition })),
    );
    const made = tools.filter((tool) => tool.type === 'function');
    if (made.length !== origins.length || made.length !== tools.length) {
      throw new HoldfastError('library_changed', 'The SDK makes other tools of an MCP server than it lists.');
    }
    for (const [index, tool] of made.entries()) {
      const origin = origins[index];
      if (origin !== undefined) setMcpSource(tool, origin);
    }
    assertApart(this, made);
    return tools;
  };
  installed = true;
}

/** What each server of an agent offers, one server after the other, so that a replay takes the same steps. */
async function offersOf(scope: SegmentContext, agent: Agent, context: RunContext<unknown>): Promise<Offer[]> {
  const offers: Offer[] = [];
  for (const server of agent.mcpServers) {
    const label = serverLabel(server.name);
    offers.push({ server, label, definitions: await offeredTools(scope, agent, context, server, label) });
  }
  return offers;
}

async function named<T>(agent: Agent, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UserError) throw collision(agent, error.message.replace(/\.$/, ''));
    throw error;
  }
}

/** A server must not take the place of a tool or handoff that the agent has itself. */
function assertApart(agent: Agent, tools: readonly FunctionTool[]): void {
  const handoffs: readonly unknown[] = agent.handoffs;
  const own = new Set([...agent.tools.map((tool) => tool.name), ...handoffs.map(nameOfHandoff)]);
  const taken = tools.find((tool) => own.has(tool.name));
  if (taken === undefined) return;
  const server = mcpSourceOf(taken)?.label;
  throw collision(
    agent,
    `The MCP server ${server} offers ${taken.name}, which is a tool or handoff of the agent itself`,
  );
}

/** As the SDK names the tool of a handoff. */
const nameOfHandoff = (to: unknown): string => {
  const { toolName, name } = to as { readonly toolName?: unknown; readonly name?: unknown };
  return typeof toolName === 'string' ? toolName : `transfer_to_${String(name).replaceAll(/[^A-Za-z0-9_]/g, '_')}`;
};

const collision = (agent: Agent, what: string): HoldfastError =>
  new HoldfastError('agent_invalid', `${what} (agent ${agent.name}).`, {
    hint: 'Set mcpConfig.includeServerInToolNames of the agent, or leave the tool out with the toolFilter of the server.',
  });
