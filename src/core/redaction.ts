import { z } from 'zod';
import type { AgentPrompt } from './agent-prompt.js';
import type { Family } from './atif.js';
import type { ConversationMessage } from './conversation.js';
import { outputText } from './conversation-items.js';
import type { JsonObject, JsonValue } from './json.js';

/** What is taken out of conversations before they are exported. */

export const REDACTED = '[redacted]';

/**
 * Why an expression may take for ever on a text that somebody else wrote: something repeated without a bound inside of
 * something that is repeated, or a look at the text around. Null: none of these is in it.
 */
export function slowExpression(pattern: string): string | null {
  const bare = pattern.replaceAll(/\\[^kpP\d]|\\[pP](\{[^}]*\})?/g, 'a').replaceAll(/\[(?:\\.|[^\]\\])*\]/g, 'a');
  if (/\\\d|\\k/.test(bare)) return 'it refers back to a group';
  if (/\(\?(?:[=!]|<[=!])/.test(bare)) return 'it looks ahead or behind';
  // For each group that is open: whether something in it is repeated, or chosen.
  const open: boolean[] = [false];
  for (let index = 0; index < bare.length; index++) {
    const char = bare[index] ?? '';
    if (char === '(') open.push(false);
    const inner = char === ')' && open.pop() === true;
    const repeated = char === ')' && /^(?:[*+]|\{\d+,?\d*\})/.test(bare.slice(index + 1));
    if (inner && repeated) return 'it repeats a group in which something is repeated or chosen';
    if (inner || repeated || '*+|{'.includes(char)) open.splice(-1, 1, true);
  }
  const unbounded = bare.match(/[*+]|\{\d+,\}/g) ?? [];
  return unbounded.length > 5 ? 'it repeats more than five things without a bound' : null;
}

const pattern = z
  .string()
  .min(1)
  .max(500)
  .superRefine((text, context) => {
    try {
      new RegExp(text, 'gu');
    } catch (error) {
      const why = error instanceof Error ? error.message : 'it cannot be read';
      context.addIssue(`expected a regular expression: ${why}`);
      return;
    }
    const slow = slowExpression(text);
    if (slow !== null) context.addIssue(`expected an expression that is done in time: ${slow}`);
  });

export const redaction = z
  .strictObject({
    patterns: z
      .array(
        z.strictObject({
          pattern: pattern.describe('A regular expression of JavaScript with the flags g and u.'),
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

type Clean = (value: JsonValue) => JsonValue;

/** What redacts values: texts by the patterns, then by `last`; fields by their names. */
export function redactorOf({ patterns, keys }: Redaction, last: (text: string) => string): Clean {
  const hidden = new Set(keys.map((key) => key.toLowerCase()));
  const rules = patterns.map((rule) => ({
    expression: new RegExp(rule.pattern, rule.ignoreCase ? 'giu' : 'gu'),
    replacement: () => rule.replacement,
  }));
  const cleanText = (text: string): string =>
    last(rules.reduce((rest, { expression, replacement }) => rest.replace(expression, replacement), text));
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

/** Fields by their names also in a text that is JSON, as results of tools often are. */
function withinJson(text: string, clean: Clean): string {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.stringify(clean(JSON.parse(text)));
  } catch {
    return text;
  }
}

/** A family of runs with everything redacted that was said in it, or of it. Ids, hashes and times stay: they are the evidence. */
export function redactFamily(family: Family, clean: Clean): Family {
  const text = (value: string): string => String(clean(value));
  const object = (value: JsonObject): JsonObject => clean(value) as JsonObject;
  const message = (one: ConversationMessage): ConversationMessage => {
    if (one.role === 'tool') {
      const { outcome } = one;
      if (outcome?.type !== 'output') return { ...one, text: text(one.text) };
      const output = clean(outcome.output);
      if (output === outcome.output) return one;
      return { ...one, text: outputText(output), outcome: { ...outcome, output } };
    }
    if (one.role !== 'assistant') return { ...one, text: text(one.text) };
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
      loops: loops.map((loop) => ({ ...loop, messages: loop.messages.map(message) })),
    },
    prompts: new Map([...prompts].map(([name, one]) => [name, prompt(one)])),
    children: new Map([...children].map(([id, child]) => [id, redactFamily(child, clean)])),
  };
}
