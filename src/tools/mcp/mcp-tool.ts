import type { FunctionTool } from '@openai/agents';
import { definitionDigest, effectOf, type McpDefinition, type McpRules } from '../../core/tools/mcp.js';
import type { ToolSpec } from '../../core/tools/tool.js';
import { toolSpecOf } from '../define/define-tool.js';

/**
 * The spec of a tool of an MCP server: it needs `mcp:call:<server>/<tool>`, its version is its definition, and what it does to
 * the world is what the agent's rules say, not what the server says.
 */
export function mcpToolSpec(tool: FunctionTool, server: string, definition: McpDefinition, rules: McpRules): ToolSpec {
  const plain = toolSpecOf(tool);
  const capability = `mcp:call:${server}/${definition.name}`;
  return {
    ...plain,
    version: definitionDigest(definition).slice('sha256:'.length, 'sha256:'.length + 16),
    effect: effectOf(rules, definition),
    timeoutMs: rules.timeoutMs ?? plain.timeoutMs,
    maxOutputBytes: rules.maxOutputBytes ?? plain.maxOutputBytes,
    onUnknownEffect: rules.onUnknownEffect ?? 'ask',
    capabilitiesOf: () => [capability],
    label: 'untrusted:mcp',
    step: capability,
  };
}
