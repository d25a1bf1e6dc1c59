import { AsyncLocalStorage } from 'node:async_hooks';
import type { FunctionTool, MCPServer } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { EffectUnknown } from '../../src/core/runs/call.js';
import { changesOf, type McpDefinition, type McpRules } from '../../src/core/tools/mcp.js';
import type { ToolContext } from '../../src/core/tools/tool.js';
import type { AuthorizedCall, SegmentContext } from '../segment-context.js';

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

/** The body of a call of a server's tool: `invoke`, as the SDK made it, with the door to the server open for one request. */
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
    await assertUnchanged(scope, call.source);
    const repeatable = effect !== 'unsafe' || onUnknownEffect === 'rerun';
    return await scope.ctx.mcp.call(server, repeatable, call.signal, request);
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
