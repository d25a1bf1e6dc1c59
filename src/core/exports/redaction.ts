import { z } from 'zod';
import type { AgentPrompt, ToolDefinition } from '../agents/agent-prompt.js';
import type { WorkspaceChanges } from '../containers/workspace-changes.js';
import { bytesOf, type ContentPart } from '../content-part.js';
import { isObject, type JsonObject, type JsonValue } from '../json.js';
import { Allowance } from '../limits/allowance.js';
import {
  type LinearPattern,
  linearPattern,
  PATTERN_LENGTH,
  patternProblem,
  patternSize,
} from '../limits/linear-pattern.js';
import type { TrajectoryResult } from '../trajectories/trajectory-result.js';
import type { Family } from './atif.js';
import type { ConversationMessage, Loop, ToolMessage } from './conversation.js';
import { outputText } from './conversation-items.js';

/** What is taken out of conversations before they are exported. */

export const REDACTED = '[redacted]';

/** Of all expressions of one redaction together. */
const SIZE_LIMIT = 10_000;

export const redaction = z
  .strictObject({
    patterns: z
      .array(
        z.strictObject({
          pattern: z.string().min(1).max(PATTERN_LENGTH).describe('A regular expression in the syntax of RE2.'),
          ignoreCase: z.boolean().default(false),
          replacement: z.string().max(200).default(REDACTED),
        }),
      )
      .max(50)
      .default([]),
    keys: z
      .array(z.string().min(1).max(200))
      .max(200)
      .default([])
      .describe(
        'Names of fields whose values are taken out, wherever they are in arguments and results. Upper and lower case are one.',
      ),
  })
  .meta({ id: 'Redaction' });
export type Redaction = z.output<typeof redaction>;

/** Which expressions of a new redaction are not taken, by their places, and why. What is recorded was taken once. */
export function redactionProblems({
  patterns,
}: Redaction): readonly { readonly at: readonly (string | number)[]; readonly why: string }[] {
  const wrong = patterns.flatMap(({ pattern }, index) => {
    const why = patternProblem(pattern);
    return why === null ? [] : [{ at: ['patterns', index, 'pattern'], why }];
  });
  const size = patterns.reduce((sum, { pattern }) => sum + patternSize(pattern), 0);
  if (wrong.length > 0 || size <= SIZE_LIMIT) return wrong;
  return [{ at: ['patterns'], why: `expected expressions of at most ${SIZE_LIMIT} steps together, got ${size}` }];
}

type Clean = (value: JsonValue) => JsonValue;

interface Rule {
  readonly expression: LinearPattern;
  readonly replacement: string;
}

const compiled = new WeakMap<Redaction, readonly Rule[]>();

/** Compiles the patterns once for each redaction, because an export redacts a thousand runs by the same one. */
function rulesOf(redaction: Redaction): readonly Rule[] {
  const known = compiled.get(redaction);
  if (known !== undefined) return known;
  const rules = redaction.patterns.map((rule) => ({
    expression: linearPattern(rule.pattern, rule),
    replacement: rule.replacement,
  }));
  compiled.set(redaction, rules);
  return rules;
}

/** What redacts values: texts by the patterns, which spend the allowance, then by `last`; fields by their names. */
export function redactorOf(redaction: Redaction, last: (text: string) => string, allowance: Allowance): Clean {
  const hidden = new Set(redaction.keys.map((key) => key.toLowerCase()));
  const rules = rulesOf(redaction);
  const cleanText = (text: string): string =>
    last(rules.reduce((rest, { expression, replacement }) => expression.replace(rest, replacement, allowance), text));
  const clean: Clean = (value) => {
    if (typeof value === 'string') return hidden.size === 0 ? cleanText(value) : cleanText(withinJson(value, clean));
    if (Array.isArray(value)) {
      const items: JsonValue[] = value.map(clean);
      return items.every((item, index) => item === value[index]) ? value : items;
    }
    if (typeof value !== 'object' || value === null) return value;
    const object = value as JsonObject;
    let isClean = true;
    const members = Object.entries(object).map(([key, item]): [string, JsonValue] => {
      const member: [string, JsonValue] = [cleanText(key), hidden.has(key.toLowerCase()) ? REDACTED : clean(item)];
      isClean &&= member[0] === key && member[1] === item;
      return member;
    });
    return isClean ? value : Object.fromEntries(members);
  };
  return clean;
}

/** What changes every text of a value. Nothing is put in the place of anything that could spend an allowance. */
export const textsBy = (change: (text: string) => string): Clean =>
  redactorOf({ patterns: [], keys: [] }, change, new Allowance({ made: 0 }));

/** Fields by their names also in a text that is JSON, as results of tools often are. */
function withinJson(text: string, clean: Clean): string {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    const value: JsonValue = JSON.parse(text);
    const cleaned = clean(value);
    // A text in which nothing is hidden keeps its spaces and its long numbers.
    return cleaned === value ? text : JSON.stringify(cleaned);
  } catch {
    return text;
  }
}

/** The same as `clean` of an object, an item of its lists at a time. */
export function* cleanInPieces(value: JsonValue, clean: Clean): Generator<void, JsonValue> {
  if (!isObject(value)) return clean(value);
  const lists = new Map<number, JsonValue[]>();
  const members = Object.entries(value);
  for (const [at, [, list]] of members.entries()) {
    if (!Array.isArray(list)) continue;
    const items: JsonValue[] = [];
    for (const item of list) {
      items.push(clean(item));
      yield;
    }
    lists.set(at, items);
  }
  // What is hidden by its name is no list any more.
  const rest = clean(Object.fromEntries(members.map(([name, one]) => [name, Array.isArray(one) ? [] : one])));
  const cleaned = Object.entries(rest as JsonObject);
  return Object.fromEntries(
    cleaned.map(([name, one], at): [string, JsonValue] => [name, Array.isArray(one) ? (lists.get(at) ?? one) : one]),
  );
}

/** That of an object stays JSON: its values are redacted, in their order. */
function saidText(said: string, clean: Clean): string {
  if (!/^[[{]/.test(said)) return String(clean(said));
  try {
    return JSON.stringify(clean(JSON.parse(said)));
  } catch {
    return String(clean(said));
  }
}

/** Words of a JSON schema that are values, and not its structure. */
const SAID_IN_SCHEMA: ReadonlySet<string> = new Set([
  ...['title', 'description', '$comment', 'default', 'const', 'enum', 'examples'],
]);
/** Members of a JSON schema whose own members are schemas under names that arguments have. */
const NAMED_IN_SCHEMA: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'],
]);

/** Redacts the words of a schema. Names of arguments stay: calls are made with them. */
function schemaWith(schema: JsonValue, clean: Clean): JsonValue {
  if (Array.isArray(schema)) return schema.map((one: JsonValue) => schemaWith(one, clean));
  if (!isObject(schema)) return schema;
  const members = Object.entries(schema).map(([name, value]): [string, JsonValue] => {
    if (SAID_IN_SCHEMA.has(name)) return [name, clean(value)];
    if (!NAMED_IN_SCHEMA.has(name) || !isObject(value)) return [name, schemaWith(value, clean)];
    const named = Object.entries(value).map(([one, of]): [string, JsonValue] => [one, schemaWith(of, clean)]);
    return [name, Object.fromEntries(named)];
  });
  return Object.fromEntries(members);
}

/** Redacts a value as a field of this name. */
const cleanField = (name: string, value: JsonValue, clean: Clean): JsonValue =>
  Object.values(clean({ [name]: value }) as JsonObject)[0] ?? null;

const TASK_ID = 'task:';

/** Redacts the name of a task, if a caller gave it. A digest of the input stays. */
export const cleanTask = (task: string, clean: Clean): string =>
  task.startsWith(TASK_ID) ? `${TASK_ID}${String(cleanField('taskId', task.slice(TASK_ID.length), clean))}` : task;

/** Redacts the tags of a run; none where their field is hidden. */
export function cleanTags(tags: readonly string[], clean: Clean): string[] {
  const cleaned = cleanField('tags', [...tags], clean);
  return Array.isArray(cleaned) ? cleaned.map(String) : [];
}

/** Redacts the words of a result: errors, reasons and names of signals. */
export function cleanResult(result: TrajectoryResult, clean: Clean): TrajectoryResult {
  const text = (value: string): string => String(clean(value));
  if (result.type === 'success') return result;
  if (result.type === 'partial_success') return { ...result, missing: result.missing.map(text) };
  return { ...result, reason: text(result.reason) };
}

/**
 * A family of runs with everything redacted that was said in it, or of it, a message at a time. Ids, hashes and times stay: they are the
 * evidence.
 */
export function* redactFamily(family: Family, clean: Clean): Generator<void, Family> {
  const text = (value: string): string => String(clean(value));
  const object = (value: JsonObject): JsonObject => clean(value) as JsonObject;
  // What an image shows is not read.
  const part = (one: ContentPart): ContentPart => {
    if (one.type === 'text') return { ...one, text: text(one.text) };
    return bytesOf(one.url) === null ? { ...one, url: text(one.url) } : one;
  };
  const files = (changes: WorkspaceChanges): WorkspaceChanges => ({
    ...changes,
    cwd: text(changes.cwd),
    files: changes.files.map((file) => ({ ...file, path: text(file.path) })),
  });
  const toolMessage = (one: ToolMessage): ToolMessage => {
    const { outcome, workspace } = one;
    const seen = workspace === undefined ? one : { ...one, workspace: files(workspace) };
    if (outcome === null) return { ...seen, text: text(one.text) };
    if (outcome.type !== 'output')
      return { ...seen, text: text(one.text), outcome: { ...outcome, message: text(outcome.message) } };
    const output = clean(outcome.output);
    const said = outcome.text === undefined ? undefined : saidText(outcome.text, clean);
    if (output === outcome.output && said === outcome.text) return seen;
    const redacted = { type: 'output' as const, output, ...(said === undefined ? {} : { text: said }) };
    return { ...seen, text: said ?? outputText(output), outcome: redacted };
  };
  const message = (one: ConversationMessage): ConversationMessage => {
    if (one.role === 'tool') return toolMessage(one);
    if (one.role !== 'assistant') return { ...one, text: text(one.text), parts: one.parts?.map(part) ?? null };
    return {
      ...one,
      text: text(one.text),
      reasoning: one.reasoning === null ? null : text(one.reasoning),
      other: one.other.map(object),
      error: one.error === null ? null : { ...one.error, message: text(one.error.message) },
      calls: one.calls.map((call) => ({
        ...call,
        arguments: object(call.arguments),
        asked: clean(call.asked),
        checks: call.checks.map((check) => ({ ...check, capability: text(check.capability) })),
      })),
    };
  };
  const { conversation, prompts, children } = family;
  const { run, loops } = conversation;
  const tool = ({ name, description, parameters }: ToolDefinition): ToolDefinition => ({
    name,
    description: text(description),
    parameters: schemaWith(parameters, clean) as JsonObject,
  });
  const prompt = ({ instructions, tools }: AgentPrompt): AgentPrompt => ({
    instructions: instructions === null ? null : text(instructions),
    tools: new Map([...tools].map(([name, one]) => [name, tool(one)])),
  });
  const clear: Loop[] = [];
  for (const loop of loops) {
    const messages: ConversationMessage[] = [];
    for (const one of loop.messages) {
      messages.push(message(one));
      yield;
    }
    clear.push({ ...loop, messages });
  }
  const below = new Map<string, Family>();
  for (const [id, child] of children) below.set(id, yield* redactFamily(child, clean));
  return {
    conversation: {
      ...conversation,
      run: {
        ...run,
        input: clean(run.input),
        output: clean(run.output),
        metadata: object(run.metadata),
        error: run.error === null ? null : { ...run.error, message: text(run.error.message) },
      },
      loops: clear,
    },
    prompts: new Map([...prompts].map(([name, one]) => [name, prompt(one)])),
    children: below,
  };
}
