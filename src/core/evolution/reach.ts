import { z } from 'zod';
import type { ScaffoldName } from '../agents/scaffold.js';
import type { ErrorCode } from '../errors/errors.js';
import { canonical, type JsonObject, type JsonValue, toJson } from '../json.js';
import type { CompiledCall, CompiledNode, CompiledPlan } from '../plans/plan.js';
import type { ToolSpec } from '../tools/tool.js';
import { type Offers, type OwnTools, offeredScaffold, offeredVersion } from './offers.js';
import { type AgentPatch, patchedDefinition, patchInvalid } from './patch.js';
import { refused } from './refused.js';

/** Definitions before and after a patch, member by member. */

const membersOf = (value: JsonValue | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

/** Names of the members that differ. Order of members does not count. */
function changedMembers(before: JsonObject, after: JsonObject): readonly string[] {
  const textOf = (of: JsonObject, name: string): string => {
    const value = Object.hasOwn(of, name) ? of[name] : undefined;
    return value === undefined ? '' : canonical(value);
  };
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.filter((name) => textOf(before, name) !== textOf(after, name));
}

/** What a patch of an agent may change. Definitions are compared before and after it, whatever way its operations took. */

const INSTRUCTIONS_MOST = 65_536;
const COMPUTED = '(computed)';

/** Fields that say what an agent may do. No patch changes them. */
const GRANT_FIELDS: ReadonlySet<string> = new Set(['grants', 'mcp', 'mcpServers', 'environment', 'context', 'state']);
/** Fields that say who is asked, and what follows from a refusal. */
const APPROVAL_FIELDS: ReadonlySet<string> = new Set(['separateRequester', 'onDenied']);
const OPEN_FIELDS: ReadonlySet<string> = new Set([
  ...['instructions', 'model', 'modelSettings', 'tools', 'handoffs', 'scaffold'],
]);
/** Members of a tool that decide whether and how people are asked for a call of it. */
const APPROVAL_MEMBERS: ReadonlySet<string> = new Set(['approvals', 'separateRequester', 'effect', 'onUnknownEffect']);

/** Settings that reach nothing but the text of the model. Others carry headers, bodies and tools of a provider. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
const openSettings = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  frequencyPenalty: z.number().min(-2).max(2).optional(),
  presencePenalty: z.number().min(-2).max(2).optional(),
  maxTokens: z.int().min(1).optional(),
  parallelToolCalls: z.boolean().optional(),
  reasoning: z.looseObject({ effort: z.enum(EFFORTS).nullish() }).optional(),
  text: z.looseObject({ verbosity: z.enum(['low', 'medium', 'high']).nullish() }).optional(),
});
/** The only member of these settings that may change: others say what a provider keeps, or how much it works. */
const OPEN_MEMBERS: { readonly [setting: string]: string } = { reasoning: 'effort', text: 'verbosity' };
export const OPEN_SETTINGS: ReadonlySet<string> = new Set(Object.keys(openSettings.shape));

/** What a patch changes of an agent. A field that is absent stays as it is. */
export interface AgentChange {
  readonly instructions?: string;
  readonly model?: string;
  readonly modelSettings?: z.output<typeof openSettings>;
  /** Names of the tools that are left. */
  readonly tools?: readonly string[];
  /** The versions that take the place of tools, by name. */
  readonly versions?: ReadonlyMap<string, ToolSpec>;
  /** Names of the agents that it still hands over to. */
  readonly handoffs?: readonly string[];
  readonly scaffold?: ScaffoldName;
}

export interface JudgedPatch {
  readonly definition: JsonObject;
  readonly change: AgentChange;
}

/**
 * Applies a patch and returns what it changes. Of another scaffold the tools are none of the definition yet. Throws `patch_invalid`,
 * `patch_widens_grants`, `patch_loosens_approval`, `patch_out_of_reach`.
 */
export function judgePatch(before: JsonObject, patch: AgentPatch, own: OwnTools, offers: Offers): JudgedPatch {
  const definition = patchedDefinition(before, patch);
  const changed = changedMembers(before, definition);
  assertUnchanged(changed, GRANT_FIELDS, 'patch_widens_grants', 'what the agent may reach');
  assertUnchanged(changed, APPROVAL_FIELDS, 'patch_loosens_approval', 'who is asked before a call');
  const versions = changed.includes('tools')
    ? newVersions(before['tools'], definition['tools'], own, offers)
    : new Map<string, ToolSpec>();
  const beyond = changed.find((field) => !OPEN_FIELDS.has(field));
  if (beyond !== undefined) throw refused('patch_out_of_reach', `/${beyond}`, 'this field');
  if (changed.length === 0) throw patchInvalid('it changes nothing');
  const has = (field: string): boolean => changed.includes(field);
  const change = changeOf(before, definition, has, offers.models);
  const scaffold = has('scaffold') ? { scaffold: offeredScaffold(before, definition, own, offers) } : {};
  return { definition, change: { ...change, ...(versions.size === 0 ? {} : { versions }), ...scaffold } };
}

function changeOf(
  before: JsonObject,
  after: JsonObject,
  has: (field: string) => boolean,
  models: readonly string[],
): Omit<AgentChange, 'versions' | 'scaffold'> {
  return {
    ...(has('instructions') ? { instructions: instructionsOf(before['instructions'], after['instructions']) } : {}),
    ...(has('model') ? { model: modelOf(after['model'], models) } : {}),
    ...(has('modelSettings') ? { modelSettings: settingsOf(before['modelSettings'], after['modelSettings']) } : {}),
    ...(has('tools') ? { tools: namedItems(after['tools']).map(({ name }) => name) } : {}),
    ...(has('handoffs') ? { handoffs: handoffsOf(before['handoffs'], after['handoffs']) } : {}),
  };
}

function instructionsOf(before: JsonValue | undefined, after: JsonValue | undefined): string {
  if (before === COMPUTED) throw refused('patch_out_of_reach', '/instructions', 'instructions that code computes');
  if (typeof after !== 'string' || after.length === 0 || after.length > INSTRUCTIONS_MOST || after === COMPUTED)
    throw patchInvalid(`/instructions must be a text of at most ${INSTRUCTIONS_MOST} characters`);
  return after;
}

function modelOf(after: JsonValue | undefined, models: readonly string[]): string {
  const isAllowed = (name: string): boolean =>
    models.some((one) => one === name || (one.endsWith('/*') && name.startsWith(one.slice(0, -1))));
  // What allows several models is none itself.
  const isName = typeof after === 'string' && after !== '' && !/[/*]$/.test(after);
  if (isName && isAllowed(after)) return after;
  const list = models.join(', ') || 'none';
  throw refused('patch_out_of_reach', '/model', `a model that \`forkModels\` does not allow (it allows ${list})`);
}

function settingsOf(before: JsonValue | undefined, after: JsonValue | undefined): z.output<typeof openSettings> {
  const [old, now] = [membersOf(before), membersOf(after)];
  const beyond = changedMembers(old, now).find((name) => !OPEN_SETTINGS.has(name));
  if (beyond !== undefined) throw refused('patch_out_of_reach', `/modelSettings/${beyond}`, 'this setting');
  for (const [setting, member] of Object.entries(OPEN_MEMBERS)) {
    const other = changedMembers(membersOf(old[setting]), membersOf(now[setting])).find((name) => name !== member);
    if (other !== undefined) throw refused('patch_out_of_reach', `/modelSettings/${setting}/${other}`, 'this setting');
  }
  const parsed = openSettings.safeParse(
    Object.fromEntries(Object.entries(now).filter(([name]) => OPEN_SETTINGS.has(name))),
  );
  if (!parsed.success)
    throw patchInvalid(`/modelSettings: ${parsed.error.issues.map(({ message }) => message).join('; ')}`);
  return parsed.data;
}

/**
 * Tools go away, or get another version that the configuration offers: what else comes, or changes, could do more or ask less than the
 * configuration grants. Returns the new versions.
 */
function newVersions(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  own: OwnTools,
  offers: Offers,
): ReadonlyMap<string, ToolSpec> {
  const known = new Map(namedItems(before).map(({ name, item }) => [name, item]));
  const seen = new Set<string>();
  const versions = new Map<string, ToolSpec>();
  for (const { name, item } of namedItems(after)) {
    const old = known.get(name);
    if (old === undefined) throw refused('patch_widens_grants', '/tools', `the tools: ${name} is not among them`);
    if (seen.has(name)) throw patchInvalid(`/tools has ${name} twice`);
    seen.add(name);
    const changed = changedMembers(old, item);
    const { version } = item;
    if (changed.join() === 'version' && typeof version === 'string') {
      versions.set(name, offeredVersion(own, offers, { name, version }));
      continue;
    }
    const loosened = changed.find((member) => APPROVAL_MEMBERS.has(member));
    if (loosened !== undefined)
      throw refused('patch_loosens_approval', `/tools/${name}/${loosened}`, 'when people are asked');
    if (changed.length > 0) throw refused('patch_out_of_reach', `/tools/${name}/${changed[0]}`, 'what a tool is');
  }
  return versions;
}

function handoffsOf(before: JsonValue | undefined, after: JsonValue | undefined): readonly string[] {
  const known = new Set(Array.isArray(before) ? before : []);
  if (!Array.isArray(after) || new Set(after).size !== after.length)
    throw patchInvalid('/handoffs must be a list of names, each once');
  return after.map((name) => {
    if (typeof name === 'string' && known.has(name)) return name;
    throw refused(
      'patch_widens_grants',
      '/handoffs',
      `the agents to hand over to: ${JSON.stringify(name)} is not among them`,
    );
  });
}

function namedItems(list: JsonValue | undefined): { readonly name: string; readonly item: JsonObject }[] {
  if (!Array.isArray(list)) throw patchInvalid('/tools must be a list');
  return list.map((value: JsonValue) => {
    const item = membersOf(value);
    const name = item['name'];
    if (typeof name !== 'string') throw patchInvalid('/tools has an entry without a name');
    return { name, item };
  });
}

function assertUnchanged(changed: readonly string[], fields: ReadonlySet<string>, code: ErrorCode, what: string): void {
  const found = changed.find((field) => fields.has(field));
  if (found !== undefined) throw refused(code, `/${found}`, what);
}

/** What a patch of a plan may change: its nodes, but nothing that an approval stands before, or that leads to one. */

const OPEN_PLAN_MEMBERS: ReadonlySet<string> = new Set(['nodes', 'output', 'description', 'atOnce']);

export interface JudgedPlan {
  readonly definition: JsonObject;
  /** The document of the plan as the patch makes it, which is to be read as any other. */
  readonly document: JsonValue;
}

/** Applies a patch to the definition of a plan. Throws `patch_invalid` and `patch_out_of_reach`. */
export function patchedPlan(before: JsonObject, patch: AgentPatch): JudgedPlan {
  const definition = patchedDefinition(before, patch);
  const beyond = changedMembers(before, definition).find((field) => field !== 'plan');
  if (beyond !== undefined) throw refused('patch_out_of_reach', `/${beyond}`, 'this field of a plan');
  const [old, now] = [membersOf(before['plan']), membersOf(definition['plan'])];
  const changed = changedMembers(old, now);
  if (changed.length === 0) throw patchInvalid('it changes nothing');
  const closed = changed.find((member) => !OPEN_PLAN_MEMBERS.has(member));
  if (closed !== undefined) throw refused('patch_out_of_reach', `/plan/${closed}`, 'this member of a plan');
  return { definition, document: now };
}

/**
 * Compares a plan before and after a patch. A node that has an approval in it, those before and after it, and those before these stay as
 * they are: otherwise people would be asked less, or about something else. What was called behind approvals alone is called nowhere else.
 * Throws `patch_loosens_approval`.
 */
export function assertApprovalsKept(before: CompiledPlan, after: CompiledPlan): void {
  const { frozen, behind } = guarded(before.block.nodes);
  if (frozen.size === 0) return;
  const now = new Map(after.block.nodes.map((node) => [node.id, node]));
  for (const { id, node } of before.block.nodes) {
    if (!frozen.has(id)) continue;
    const kept = now.get(id);
    if (kept === undefined || textOf(kept.node) !== textOf(node))
      throw refused('patch_loosens_approval', `/plan/nodes/${id}`, 'a node that an approval stands before or after');
  }
  const calledBehind = toolsOf(before.calls, (id) => behind.has(id));
  const calledOpenly = toolsOf(before.calls, (id) => !behind.has(id));
  const stray = after.calls.find(
    (call) => !frozen.has(topOf(call)) && calledBehind.has(call.tool) && !calledOpenly.has(call.tool),
  );
  if (stray !== undefined)
    throw refused('patch_loosens_approval', `/plan${stray.at}`, `where ${stray.tool} is called without its approval`);
}

/** Nodes that stay, and among them those that begin only when someone has approved. */
function guarded(nodes: readonly CompiledNode[]): {
  readonly frozen: ReadonlySet<string>;
  readonly behind: ReadonlySet<string>;
} {
  const behind = new Set(nodes.filter(hasApproval).map(({ id }) => id));
  // Nodes are in an order in which each comes after those that it needs.
  for (const { id, needs } of nodes) if (needs.some((need) => behind.has(need))) behind.add(id);
  const frozen = new Set(behind);
  for (const { id, needs } of nodes.toReversed()) if (frozen.has(id)) for (const need of needs) frozen.add(need);
  return { frozen, behind };
}

const hasApproval = ({ node, blocks }: CompiledNode): boolean =>
  (node.type === 'ask' && node.approval !== undefined) || blocks.some((block) => block.nodes.some(hasApproval));

/** The node of the plan itself that a call is of, or in. Names of nodes have no such signs. */
const topOf = ({ path }: CompiledCall): string => path.split(/[.~]/)[0] ?? '';

const toolsOf = (calls: readonly CompiledCall[], isOf: (top: string) => boolean): ReadonlySet<string> =>
  new Set(calls.filter((call) => isOf(topOf(call))).map(({ tool }) => tool));

const textOf = (value: unknown): string => canonical(toJson(value));
