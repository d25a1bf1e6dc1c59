import type { Agent, MCPServer, RunContext } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { listedTools, type McpDefinition } from '../../src/core/tools/mcp.js';
import { type Pinned, pinMcpTools } from '../../steps/calls/pin-mcp-tools.js';
import { callbackStep } from '../callback-step.js';
import { durableStep } from '../durable-step.js';
import { type SegmentContext, SegmentStop } from '../segment-context.js';
import { sdkTool } from './mcp-call.js';
import { stopFromHalt } from './run-calls.js';

interface Given {
  readonly server: MCPServer;
  readonly definitions: Promise<McpDefinition[]>;
}

const givenInScope = new WeakMap<SegmentContext, Map<string, Given>>();

/** The tools of a server that a run was given, without those that its filter leaves out. */
export async function offeredTools(
  scope: SegmentContext,
  agent: Agent,
  context: RunContext<unknown>,
  server: MCPServer,
  label: string,
): Promise<McpDefinition[]> {
  const definitions = await givenTools(scope, server, label);
  const { toolFilter } = server;
  if (toolFilter === undefined) return definitions;
  if (typeof toolFilter !== 'function') {
    const { allowedToolNames = [], blockedToolNames = [] } = toolFilter;
    return definitions.filter(
      ({ name }) =>
        (allowedToolNames.length === 0 || allowedToolNames.includes(name)) && !blockedToolNames.includes(name),
    );
  }
  const filter = async (): Promise<string[]> => {
    const names: string[] = [];
    for (const definition of definitions) {
      const asked = { runContext: context, agent, serverName: server.name };
      if (await toolFilter(asked, sdkTool(definition))) names.push(definition.name);
    }
    return names;
  };
  const names = definitions.map(({ name }) => name);
  const kept = await callbackStep(scope, `mcp:filter:${label}`, filter, (source) =>
    source.leftByFilter(scope.turns + 1, names),
  );
  return definitions.filter(({ name }) => Array.isArray(kept) && kept.includes(name));
}

/** The tool list of a server that the run was given; asked for once in each segment. */
function givenTools(scope: SegmentContext, server: MCPServer, label: string): Promise<McpDefinition[]> {
  const given = givenInScope.get(scope) ?? new Map<string, Given>();
  givenInScope.set(scope, given);
  const known = given.get(label);
  if (known === undefined) {
    const definitions = takeList(scope, server, label);
    given.set(label, { server, definitions });
    return definitions;
  }
  if (known.server === server) return known.definitions;
  throw new HoldfastError(
    'agent_invalid',
    `Two MCP servers of a run are named ${label}, and a grant for one would cover both. Share the server, or name them apart.`,
  );
}

async function takeList(scope: SegmentContext, server: MCPServer, label: string): Promise<McpDefinition[]> {
  const { ctx, run, segment, signal } = scope;
  const recorded = await recordedPin(scope, label);
  if (recorded !== null) return announced(scope, label, recorded);
  const pinned = await durableStep(scope, `mcp:tools:${label}`, () =>
    pinMcpTools(ctx, { id: run.id, tenant: run.tenant, segment }, label, () => ctx.mcp.list(server), signal),
  );
  if (pinned.type === 'halted') {
    scope.stop = stopFromHalt(pinned.why);
    throw new SegmentStop(scope.stop);
  }
  if (pinned.type === 'failed') {
    const { code, message, hint } = pinned.error;
    throw new HoldfastError(code, message, { hint });
  }
  return announced(scope, label, pinned);
}

/** What a recording says; null: it does not, and the server is asked. Lists and pins never change: reading takes no step. */
async function recordedPin(scope: SegmentContext, label: string): Promise<Announced | null> {
  const said = scope.recorded?.toolList(label);
  if (said === undefined) return null;
  const { listed, changes } = said;
  if (listed !== null) return { digest: listed, fresh: true, changes };
  const digest = await scope.ctx.mcpLists.pinned(scope.run.id, label);
  return digest === null ? null : { digest, fresh: false, changes };
}

type Announced = Omit<Extract<Pinned, { type: 'pinned' }>, 'type'>;

async function announced(scope: SegmentContext, label: string, pinned: Announced): Promise<McpDefinition[]> {
  const { ctx, run } = scope;
  const definitions = await ctx.mcpLists.definitions(run.tenant, pinned.digest);
  if (definitions === null)
    throw new HoldfastError('mcp_list_invalid', `The tool list ${pinned.digest} of the MCP server ${label} is gone.`);
  if (pinned.fresh)
    scope.log.add('mcp.listed', { server: label, digest: pinned.digest, tools: listedTools(definitions) });
  if (pinned.changes.length > 0) scope.log.add('mcp.changed', { server: label, changes: [...pinned.changes] });
  return definitions;
}
