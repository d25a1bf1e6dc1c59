import { z } from 'zod';
import type { ErrorCode } from '../errors/errors.js';
import type { JsonObject, JsonValue } from '../json.js';
import { changedMembers, membersOf, refused } from './changed-members.js';
import { type AgentPatch, patchedDefinition, patchInvalid } from './patch.js';

/** What a patch of an agent may change. Definitions are compared before and after it, whatever way its operations took. */

const INSTRUCTIONS_MOST = 65_536;
const COMPUTED = '(computed)';

/** Fields that say what an agent may do. No patch changes them. */
const GRANT_FIELDS: ReadonlySet<string> = new Set(['grants', 'mcp', 'mcpServers', 'environment', 'context', 'state']);
/** Fields that say who is asked, and what follows from a refusal. */
const APPROVAL_FIELDS: ReadonlySet<string> = new Set(['separateRequester', 'onDenied']);
const OPEN_FIELDS: ReadonlySet<string> = new Set(['instructions', 'model', 'modelSettings', 'tools', 'handoffs']);
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
  /** Names of the agents that it still hands over to. */
  readonly handoffs?: readonly string[];
}

export interface JudgedPatch {
  readonly definition: JsonObject;
  readonly change: AgentChange;
}

/**
 * Applies a patch and returns what it changes. `models` are those that the configuration allows for the agent. Throws `patch_invalid`,
 * `patch_widens_grants`, `patch_loosens_approval`, `patch_out_of_reach`.
 */
export function judgePatch(before: JsonObject, patch: AgentPatch, models: readonly string[]): JudgedPatch {
  const definition = patchedDefinition(before, patch);
  const changed = changedMembers(before, definition);
  assertUnchanged(changed, GRANT_FIELDS, 'patch_widens_grants', 'what the agent may reach');
  assertUnchanged(changed, APPROVAL_FIELDS, 'patch_loosens_approval', 'who is asked before a call');
  if (changed.includes('tools')) assertTools(before['tools'], definition['tools']);
  const beyond = changed.find((field) => !OPEN_FIELDS.has(field));
  if (beyond !== undefined) throw refused('patch_out_of_reach', `/${beyond}`, 'this field');
  if (changed.length === 0) throw patchInvalid('it changes nothing');
  return { definition, change: changeOf(before, definition, changed, models) };
}

function changeOf(
  before: JsonObject,
  after: JsonObject,
  changed: readonly string[],
  models: readonly string[],
): AgentChange {
  const has = (field: string): boolean => changed.includes(field);
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

/** Tools may only go away: one that comes, or changes, could do more or ask less than those that the configuration grants. */
function assertTools(before: JsonValue | undefined, after: JsonValue | undefined): void {
  const known = new Map(namedItems(before).map(({ name, item }) => [name, item]));
  const seen = new Set<string>();
  for (const { name, item } of namedItems(after)) {
    const old = known.get(name);
    if (old === undefined) throw refused('patch_widens_grants', '/tools', `the tools: ${name} is not among them`);
    if (seen.has(name)) throw patchInvalid(`/tools has ${name} twice`);
    seen.add(name);
    const changed = changedMembers(old, item);
    const loosened = changed.find((member) => APPROVAL_MEMBERS.has(member));
    if (loosened !== undefined)
      throw refused('patch_loosens_approval', `/tools/${name}/${loosened}`, 'when people are asked');
    if (changed.length > 0) throw refused('patch_out_of_reach', `/tools/${name}/${changed[0]}`, 'what a tool is');
  }
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
