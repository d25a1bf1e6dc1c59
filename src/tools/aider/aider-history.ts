import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../core/json.js';
import { partText } from '../swe/mini-swe-text.js';
import { fileShown, mapShown } from './look-around.js';

/** The conversation as aider shows it: the map and the files of the chat as they are now, and then who said what. */

/** What the model and the history read of edits that were made, or not. */
export const editsSaid = z.strictObject({ said: z.string(), ok: z.boolean(), files: z.array(fileShown) });

export const APPLY = 'apply_edits';
export const ADD = 'add_file';
export const MAP = 'repo_map';
export const EXPLAIN = 'explain_format';

export interface Chat {
  readonly map: string | null;
  /** Path and text, the ones that were shown last at the end. */
  readonly files: ReadonlyMap<string, string>;
}

interface Call {
  readonly tool: string;
  readonly arguments: JsonObject;
}

const editedPaths = z.object({ edits: z.array(z.object({ path: z.string() })) });
const pathOf = z.object({ path: z.string() });

/** The text of a result, which the SDK wraps. */
export function resultText(item: JsonObject): string {
  const { output } = item;
  if (typeof output === 'string') return output;
  const parts = Array.isArray(output) ? output : [output];
  return parts.map((part) => partText(part) ?? '').join('\n');
}

function parsed<T>(text: string, shape: z.ZodType<T>): T | null {
  if (!text.startsWith('{')) return null;
  try {
    return shape.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** Walks through calls with their results, in the order of the results. */
function* resultsIn(
  items: readonly JsonObject[],
): Generator<{ readonly item: JsonObject; readonly call: Call; readonly text: string }> {
  const calls = new Map<JsonValue | undefined, Call>();
  for (const item of items) {
    if (item['type'] === 'function_call')
      calls.set(item['callId'], { tool: String(item['name']), arguments: argumentsOf(item) });
    if (item['type'] !== 'function_call_result') continue;
    const call = calls.get(item['callId']);
    if (call !== undefined) yield { item, call, text: resultText(item) };
  }
}

function argumentsOf(item: JsonObject): JsonObject {
  try {
    const value: unknown = JSON.parse(String(item['arguments']));
    return z.record(z.string(), z.json()).safeParse(value).data ?? {};
  } catch {
    return {};
  }
}

/** What is in the chat after the results so far. A file that was edited and not shown again is not in it any more. */
export function chatOf(items: readonly JsonObject[], mostChars: number): Chat {
  let map: string | null = null;
  const files = new Map<string, string>();
  const show = ({ path, text }: { readonly path: string; readonly text: string }): void => {
    files.delete(path);
    files.set(path, text);
  };
  for (const { call, text } of resultsIn(items)) {
    if (call.tool === MAP) map = parsed(text, mapShown)?.map ?? map;
    const added = call.tool === ADD ? parsed(text, fileShown) : null;
    if (added !== null) show(added);
    if (call.tool !== APPLY) continue;
    for (const { path } of editedPaths.safeParse(call.arguments).data?.edits ?? []) files.delete(path);
    for (const file of parsed(text, editsSaid)?.files ?? []) show(file);
  }
  let left = mostChars;
  const kept = [...files].toReversed().filter(([, text]) => {
    left -= text.length;
    return left >= 0;
  });
  return { map, files: new Map(kept.toReversed()) };
}

/** How many of the last answers had to be mended, since the user or a success. */
export function reflectionsIn(items: readonly JsonObject[]): number {
  const texts = new Map([...resultsIn(items)].map(({ item, call, text }) => [item, { tool: call.tool, text }]));
  let count = 0;
  for (const item of items.toReversed()) {
    if (item['role'] === 'user') break;
    const result = texts.get(item);
    if (result?.tool === EXPLAIN) count++;
    if (result?.tool !== APPLY) continue;
    if (parsed(result.text, editsSaid)?.ok === true) break;
    count++;
  }
  return count;
}

/** What of a conversation names what it is about: what people and the model have said. */
export const saidIn = (items: readonly JsonObject[], most: number): string =>
  items
    .filter(({ role }) => role === 'user' || role === 'assistant')
    .map(({ content }) =>
      typeof content === 'string'
        ? content
        : (Array.isArray(content) ? content : []).map((part) => partText(part) ?? '').join('\n'),
    )
    .join('\n')
    .slice(-most)
    .toWellFormed();

const FENCE = '```';

export function aiderHistory(
  items: readonly JsonObject[],
  {
    system,
    reminder,
    mostChars,
    nameOf,
  }: {
    readonly system: string;
    readonly reminder: string;
    readonly mostChars: number;
    readonly nameOf: (path: string) => string;
  },
): JsonObject[] {
  const { map, files } = chatOf(items, mostChars);
  const shown = [
    ...(map === null ? [] : [`The map of the repository. To edit a file of it, add it to the chat first:\n\n${map}`]),
    ...(files.size === 0
      ? ['No files are in the chat yet.']
      : [
          'The files of the chat, as they are now. What was said of them before may be out of date:',
          ...[...files].map(
            ([path, text]) =>
              `${nameOf(path)}\n${fenceFor(text)}\n${text}${text.endsWith('\n') ? '' : '\n'}${fenceFor(text)}`,
          ),
        ]),
  ].join('\n\n');
  const results = new Map(
    [...resultsIn(items)].map(({ item, call, text }) => [item, saidOf(call, text, files, nameOf)]),
  );
  const conversation = items.flatMap((item): JsonObject[] => {
    if (item['type'] === 'function_call') return [];
    if (item['type'] !== 'function_call_result') return [item];
    return [{ role: 'user', content: results.get(item) ?? resultText(item) }];
  });
  return [
    { role: 'system', content: system },
    { role: 'user', content: shown },
    ...conversation,
    { role: 'system', content: reminder },
  ];
}

/** Longer than any fence in the text. */
function fenceFor(text: string): string {
  const longest = (text.match(/`{3,}/g) ?? []).reduce((most, one) => Math.max(most, one.length), 2);
  return longest > 100 ? FENCE : '`'.repeat(longest + 1);
}

function saidOf(
  { tool, arguments: given }: Call,
  text: string,
  files: ReadonlyMap<string, string>,
  nameOf: (path: string) => string,
): string {
  if (tool === MAP && parsed(text, mapShown) !== null) return 'The map is above.';
  if (tool === ADD) {
    const path = pathOf.safeParse(given).data?.path ?? '';
    if (parsed(text, fileShown) !== null)
      return files.has(path)
        ? `${nameOf(path)} is in the chat.`
        : `${nameOf(path)} was in the chat; add it again to see it.`;
  }
  return tool === APPLY ? (parsed(text, editsSaid)?.said ?? text) : text;
}
