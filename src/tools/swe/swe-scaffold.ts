import { z } from 'zod';
import { plainStep, type Scaffold, type ScaffoldCall, type StepResult } from '../../core/agents/scaffold.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { JsonObject, JsonValue } from '../../core/json.js';
import { type BashToolOptions, bashTool } from '../container/bash.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { fileWindow, windowText } from './file-window.js';
import { editTools } from './swe-edit.js';
import { searchTools } from './swe-search.js';
import { viewTools } from './swe-view.js';

export interface SweScaffoldOptions {
  /** Lines of a window. Default 100; 10 to 1000. */
  readonly windowLines?: number;
  /** Of so many calls the model still sees the results; null (default): of all. */
  readonly lastObservations?: number | null;
  /** Bounds of `bash`. */
  readonly bash?: BashToolOptions;
}

const options = z.strictObject({
  windowLines: z.int().min(10).max(1000).default(100),
  lastObservations: z.int().min(1).max(10_000).nullable().default(null),
  bash: z.unknown().optional(),
});

const submit = (): DeclaredTool =>
  defineTool({
    untrusted: 'container',
    name: 'submit',
    description: 'Says that the work is done. Nothing follows.',
    input: z.object({ summary: z.string().max(10_000).describe('What was done, in a few sentences.') }),
    output: z.string(),
    effect: 'pure',
    execute: ({ summary }) => summary,
  });

/**
 * For work on code: files are looked at through a window, found, searched and edited by lines, with a check that what parsed still
 * parses; `bash`; and `submit`, which ends the run with its summary as the output. Throws `agent_invalid` for options that are not right.
 */
export function sweScaffold(given: SweScaffoldOptions = {}): Scaffold<DeclaredTool> {
  const parsed = options.safeParse(given);
  if (!parsed.success)
    throw new HoldfastError(
      'agent_invalid',
      `The options of sweScaffold are not right: ${z.prettifyError(parsed.error)}`,
    );
  const { windowLines, lastObservations } = parsed.data;
  return {
    name: 'swe',
    version: '1',
    tools: () => [
      ...viewTools(windowLines),
      ...searchTools(),
      ...editTools(windowLines),
      bashTool(given.bash ?? {}),
      submit(),
    ],
    grants: (workdir) => [
      ...['container:exec:shell', `container:read:${workdir}/**`, `container:write:${workdir}/**`],
      'tool:call:submit',
    ],
    step: observed,
    ...(lastObservations === null ? {} : { history: (items) => withLastObservations(items, lastObservations) }),
  };
}

const shown = fileWindow.extend({ note: z.string().optional() });
const ran = z.object({ exitCode: z.int(), stdout: z.string(), stderr: z.string(), note: z.string().optional() });
const inFile = z.object({
  path: z.string(),
  total: z.int(),
  matches: z.array(z.object({ line: z.int(), text: z.string() })),
});
const inDirectory = z.object({ files: z.int(), more: z.boolean(), lines: z.array(z.string()) });
const named = z.object({ files: z.array(z.string()), more: z.boolean() });

const MORE = '(There is more: search for something narrower.)';

/** Results as texts, which models read with less effort than JSON. What has another shape stays as it is. */
const TEXTS: readonly ((output: JsonValue) => string | null)[] = [
  textBy(shown, (one) => [windowText(one), ...(one.note === undefined ? [] : [one.note])]),
  textBy(ran, ({ exitCode, stdout, stderr, note }) => [
    ...(exitCode === 0 && stdout === '' && stderr === '' ? ['The command printed nothing.'] : []),
    ...(exitCode === 0 ? [] : [`It ended with exit code ${exitCode}.`]),
    ...(stdout === '' ? [] : [stdout]),
    ...(stderr === '' ? [] : [`On stderr:\n${stderr}`]),
    ...(note === undefined ? [] : [note]),
  ]),
  textBy(inFile, ({ path, total, matches }) => [
    `${total} lines of ${path} hold it${total > matches.length ? `; the first ${matches.length}:` : ''}`,
    ...matches.map(({ line, text }) => `${line}: ${text}`),
  ]),
  textBy(inDirectory, ({ files, more, lines }) => [`${files} files hold it`, ...lines, ...(more ? [MORE] : [])]),
  textBy(named, ({ files, more }) => [`${files.length} files have such a name`, ...files, ...(more ? [MORE] : [])]),
];

function textBy<T>(shape: z.ZodType<T>, write: (value: T) => readonly string[]): (output: JsonValue) => string | null {
  return (output) => {
    const parsed = shape.safeParse(output);
    return parsed.success ? write(parsed.data).join('\n') : null;
  };
}

/** What a call gave, as a text; `submit` is the last one. */
export function observed(call: ScaffoldCall): StepResult {
  const step = plainStep(call, undefined);
  const { outcome, tool } = call;
  if (outcome.type === 'error') return step;
  const texts = TEXTS.flatMap((text) => text(outcome.output) ?? []);
  const { data } = ran.safeParse(outcome.output);
  return {
    ...step,
    ...{ observation: texts[0] ?? outcome.output, done: tool === 'submit' },
    info: data === undefined ? step.info : { ...step.info, exitCode: data.exitCode },
  };
}

const LEFT_OUT = { type: 'text', text: '(An observation of long ago, left out.)' };

/** The conversation without the results of calls before the last so many. */
function withLastObservations(items: readonly JsonObject[], count: number): readonly JsonObject[] {
  const results = items.filter(({ type }) => type === 'function_call_result');
  const old = new Set<JsonObject>(results.slice(0, Math.max(0, results.length - count)));
  return items.map((item) => (old.has(item) ? { ...item, output: LEFT_OUT } : item));
}
