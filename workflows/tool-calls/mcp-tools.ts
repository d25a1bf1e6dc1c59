import { AsyncLocalStorage } from 'node:async_hooks';
import type { Agent, FunctionTool, MCPServer, RunContext } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { EffectUnknown } from '../../src/core/runs/call.js';
import { changesOf, listedTools, type McpDefinition, type McpRules } from '../../src/core/tools/mcp.js';
import type { ToolContext } from '../../src/core/tools/tool.js';
import { type Pinned, pinMcpTools } from '../../steps/calls/pin-mcp-tools.js';
import { callbackStep, durableStep } from '../durable-step.js';
import { type AuthorizedCall, type SegmentContext, SegmentStop, stopFromHalt } from '../segment-context.js';

/** Where a function tool comes from: the server, the name of the server in capabilities, and what the run was given. */
export interface McpSource {
  readonly server: MCPServer;
  readonly label: string;
  readonly definition: McpDefinition;
}

/** A server of an agent and the tools of it that the agent is offered. */
export interface Offer {
  readonly server: MCPServer;
  readonly label: string;
  readonly definitions: readonly McpDefinition[];
}

const sources = new WeakMap<FunctionTool, McpSource>();

/** Where a function tool comes from, if an MCP server offers it. */
export const mcpSourceOf = (tool: FunctionTool): McpSource | undefined => sources.get(tool);

export const setMcpSource = (tool: FunctionTool, source: McpSource): void => {
  sources.set(tool, source);
};

type SdkTool = Awaited<ReturnType<MCPServer['listTools']>>[number];

/** As the SDK has it. Its type is narrower than what servers list and than what it takes. */
export const sdkTool = (definition: McpDefinition): SdkTool => structuredClone(definition) as unknown as SdkTool;

/** A guarded call at work; only from within one does a request leave for a server. */
interface Ongoing {
  readonly source: McpSource;
  readonly authorized: AuthorizedCall;
  readonly signal: AbortSignal;
  sent: boolean;
  /** What the SDK must not turn into a text for the model. */
  failure: HoldfastError | EffectUnknown | null;
}

const ongoing = new AsyncLocalStorage<Ongoing>();

export const rulesOf = (scope: SegmentContext, label: string): McpRules =>
  Object.hasOwn(scope.run.mcp, label) ? (scope.run.mcp[label] ?? {}) : {};

/** The body of a call of a server's tool: `invoke`, as the SDK made it, which may send one request to the server. */
export function mcpBody(
  authorized: AuthorizedCall,
  source: McpSource,
  invoke: (context: ToolContext) => Promise<unknown>,
): (context: ToolContext) => Promise<unknown> {
  return async (context) => {
    const call: Ongoing = { source, authorized, signal: context.signal, sent: false, failure: null };
    try {
      const output = await ongoing.run(call, () => invoke(context));
      if (call.failure !== null) throw call.failure;
      return output;
    } catch (error) {
      throw call.failure ?? error;
    }
  };
}

/** What the SDK has in place of a server inside a segment. */
export function standInFor(scope: SegmentContext, offer: Offer): MCPServer {
  const { server, definitions } = offer;
  const nothing = async (): Promise<void> => {};
  const { toolMetaResolver, toolInputGuardrails, toolOutputGuardrails, useStructuredContent, errorFunction } = server;
  const send = <T>(tool: string, request: () => Promise<T>): Promise<T> => throughGuard(scope, server, tool, request);
  const { callToolResult } = server;
  return {
    ...{ name: server.name, cacheToolsList: false, connect: nothing, close: nothing, invalidateToolsCache: nothing },
    ...(toolMetaResolver === undefined ? {} : { toolMetaResolver }),
    ...(toolInputGuardrails === undefined ? {} : { toolInputGuardrails }),
    ...(toolOutputGuardrails === undefined ? {} : { toolOutputGuardrails }),
    ...(useStructuredContent === undefined ? {} : { useStructuredContent }),
    ...(errorFunction === undefined ? {} : { errorFunction }),
    listTools: async () => definitions.map(sdkTool),
    callTool: (tool, ...rest) => send(tool, () => server.callTool(tool, ...rest)),
    ...(callToolResult === undefined
      ? {}
      : { callToolResult: (tool, ...rest) => send(tool, () => callToolResult.call(server, tool, ...rest)) }),
  };
}

async function throughGuard<T>(
  scope: SegmentContext,
  server: MCPServer,
  tool: string,
  request: () => Promise<T>,
): Promise<T> {
  const call = ongoing.getStore();
  if (call === undefined || call.sent || call.source.server !== server || call.source.definition.name !== tool)
    throw new HoldfastError(
      'tool_unguarded',
      `A call of ${tool} of the MCP server ${server.name} is not a guarded one.`,
    );
  call.sent = true;
  const { effect, onUnknownEffect } = call.authorized.wrapped.spec;
  try {
    const repeatable = effect !== 'unsafe' || onUnknownEffect === 'rerun';
    const ready = () => assertUnchanged(scope, call.source);
    return await scope.ctx.mcp.call(server, { repeatable, signal: call.signal, ready }, request);
  } catch (error) {
    if (error instanceof HoldfastError || error instanceof EffectUnknown) call.failure = error;
    throw error;
  }
}

/** What was granted and shown to the model is what runs: a server that has replaced a tool since then is not called. */
async function assertUnchanged(scope: SegmentContext, { server, label, definition }: McpSource): Promise<void> {
  const now = await scope.ctx.mcp.list(server);
  if (rulesOf(scope, label).onChanged === 'call') return;
  const [change] = changesOf(
    [definition],
    now.filter(({ name }) => name === definition.name),
  );
  if (change === undefined) return;
  const what = change.change === 'removed' ? 'is gone' : 'has another definition';
  throw new HoldfastError(
    'mcp_tool_changed',
    `${definition.name} of the MCP server ${label} ${what} since this run was given it; it was not called.`,
  );
}

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
  const said = scope.source.toolList(label);
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
