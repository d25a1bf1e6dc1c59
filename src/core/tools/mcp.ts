import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';
import { canonical, digestOf, jsonObject, jsonValue, toJson } from '../json.js';
import { type Effect, MOST_OUTPUT_BYTES } from './tool.js';

/** What an agent says of a server of the Model Context Protocol. Whatever it leaves out has the safe value. */
export const mcpRules = z.strictObject({
  /** Effects by the server's own name of a tool. A tool that is not named is `unsafe`. */
  effects: z.record(z.string(), z.enum(['pure', 'idempotent', 'unsafe'])).optional(),
  /**
   * Whether `readOnlyHint` and `idempotentHint` of the server count as the effect of a tool that `effects` does not name.
   * Hints are the server's own words: only for a server that you run yourself. Default false.
   */
  trustAnnotations: z.boolean().optional(),
  /** Default 60,000; at most 3,600,000. */
  timeoutMs: z.int().min(1).max(3_600_000).optional(),
  /** Bound of an output as JSON, in bytes. Default 262,144. */
  maxOutputBytes: z.int().min(1).max(MOST_OUTPUT_BYTES).optional(),
  /** What happens to an unsafe call that may have happened. Default 'ask'. */
  onUnknownEffect: z.enum(['ask', 'rerun']).optional(),
  /** A call of a tool whose definition is not the one that the run was given: refused (default), or made. */
  onChanged: z.enum(['refuse', 'call']).optional(),
});
export type McpRules = z.input<typeof mcpRules>;

/** A tool as its server defines it: what the model reads of it, and what it takes and gives. */
export const mcpDefinition = z.object({
  name: z.string().min(1).max(1024),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: jsonObject,
  outputSchema: jsonObject.optional(),
  annotations: z.record(z.string(), jsonValue).optional(),
});
export type McpDefinition = z.infer<typeof mcpDefinition>;

export const definitionDigest = (definition: McpDefinition): string => digestOf(definition);
export const listDigest = (definitions: readonly McpDefinition[]): string => digestOf(definitions);

/** How many bytes the definitions of one server may have. */
const LIST_BYTES = 1024 * 1024;

/** Reads what a server listed. Throws `mcp_list_invalid`. */
export function parseDefinitions(server: string, listed: unknown): McpDefinition[] {
  if (!Array.isArray(listed)) throw invalidList(server, 'it is no list');
  const definitions = listed.map((item, index) => {
    const parsed = mcpDefinition.safeParse(jsonOf(server, item));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw invalidList(server, `tool ${index} is wrong at \`${issue?.path.join('.')}\`: ${issue?.message}`);
  });
  const sizeBytes = Buffer.byteLength(canonical(definitions));
  if (sizeBytes > LIST_BYTES) throw invalidList(server, `it has ${sizeBytes} bytes; ${LIST_BYTES} are taken`);
  return definitions;
}

const invalidList = (server: string, why: string): HoldfastError =>
  new HoldfastError('mcp_list_invalid', `The tool list of the MCP server ${server} cannot be used: ${why}.`);

function jsonOf(server: string, item: unknown): unknown {
  try {
    return toJson(item);
  } catch (error) {
    throw invalidList(server, error instanceof Error ? error.message : String(error));
  }
}

export interface McpChange {
  readonly tool: string;
  readonly change: 'changed' | 'removed' | 'added';
}

/** What a server lists now against what a run was given, in the order of what the run was given. */
export function changesOf(given: readonly McpDefinition[], now: readonly McpDefinition[]): McpChange[] {
  const before = new Map(given.map((one) => [one.name, definitionDigest(one)]));
  const after = new Map(now.map((one) => [one.name, definitionDigest(one)]));
  const gone = [...before].flatMap(([tool, digest]): McpChange[] => {
    const fresh = after.get(tool);
    if (fresh === digest) return [];
    return [{ tool, change: fresh === undefined ? 'removed' : 'changed' }];
  });
  const added = [...after.keys()].filter((tool) => !before.has(tool)).sort();
  return [...gone, ...added.map((tool): McpChange => ({ tool, change: 'added' }))];
}

/** What a call of a tool does to the world, as far as the agent's own words go. */
export function effectOf(rules: McpRules, { name, annotations }: McpDefinition): Effect {
  const named = Object.hasOwn(rules.effects ?? {}, name) ? rules.effects?.[name] : undefined;
  if (named !== undefined) return named;
  if (rules.trustAnnotations !== true) return 'unsafe';
  if (annotations?.['readOnlyHint'] === true) return 'pure';
  return annotations?.['idempotentHint'] === true ? 'idempotent' : 'unsafe';
}

/**
 * The name of a server as capabilities write it: letters, digits, `_`, `-` and `.`. Of an address only host and path stay,
 * so that no secret of it is logged. Throws `agent_invalid` when nothing is left.
 */
export function serverLabel(name: string): string {
  const address = /[a-z]+:\/\/\S+/i.exec(name)?.[0];
  const plain = address === undefined ? name : name.replace(address, placeOf(address));
  const label = plain.replaceAll(/^[^A-Za-z0-9_.-]+|[^A-Za-z0-9_.-]+$/g, '').replaceAll(/[^A-Za-z0-9_.-]+/g, '_');
  if (label !== '') return label;
  throw new HoldfastError(
    'agent_invalid',
    `The MCP server ${JSON.stringify(name)} has no name that a capability can carry; give it one: \`name: 'files'\`.`,
  );
}

function placeOf(address: string): string {
  try {
    const { host, pathname } = new URL(address);
    return `${host}${pathname}`;
  } catch {
    return '';
  }
}

/** What the log keeps of a list: the definitions themselves are found by its digest. */
export const listedTools = (
  definitions: readonly McpDefinition[],
): { readonly tool: string; readonly digest: string }[] =>
  definitions.map((one) => ({ tool: one.name, digest: definitionDigest(one) }));
