import { z } from 'zod';
import type { AgentPrompt } from '../agents/agent-prompt.js';
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
import type { Family } from './atif.js';
import type { ConversationMessage, Loop } from './conversation.js';
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
    return JSON.stringify(clean(JSON.parse(text)));
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
  const message = (one: ConversationMessage): ConversationMessage => {
    if (one.role === 'tool') {
      const { outcome } = one;
      if (outcome?.type !== 'output') return { ...one, text: text(one.text) };
      const output = clean(outcome.output);
      const said = outcome.text === undefined ? undefined : saidText(outcome.text, clean);
      if (output === outcome.output && said === outcome.text) return one;
      const redacted = { type: 'output' as const, output, ...(said === undefined ? {} : { text: said }) };
      return { ...one, text: said ?? outputText(output), outcome: redacted };
    }
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
  const prompt = ({ instructions, tools }: AgentPrompt): AgentPrompt => ({
    instructions: instructions === null ? null : text(instructions),
    tools: new Map([...tools].map(([name, tool]) => [name, { ...tool, description: text(tool.description) }])),
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
