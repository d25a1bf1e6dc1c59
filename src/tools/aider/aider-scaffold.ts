import { posix } from 'node:path';
import { z } from 'zod';
import {
  plainStep,
  type ReadContext,
  type Scaffold,
  type ScaffoldCall,
  type StepResult,
  type TextCall,
} from '../../core/agents/scaffold.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { JsonObject } from '../../core/json.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { ADD, APPLY, aiderHistory, chatOf, EXPLAIN, MAP, reflectionsIn, saidIn } from './aider-history.js';
import { problemText, reminderText, systemText } from './aider-text.js';
import { applyTool, type EditsApplied, editsApplied, MOST_EDITS } from './apply-edits.js';
import { lookTools } from './look-around.js';
import { type EditFormat, readCommands, readEdits } from './read-edits.js';

export interface AiderScaffoldOptions {
  /** How the model writes edits. Default `diff`. */
  readonly editFormat?: EditFormat;
  /** Linters by the ending of a file (`.py`), or `*`; each gets the edited files behind it. Without one, files are parsed. False: none. */
  readonly lint?: { readonly [extension: string]: string } | false;
  /** What runs after edits without complaints of linters. Default: nothing. */
  readonly test?: string;
  /** How many answers in a row may mend what went wrong. Default 3. */
  readonly maxReflections?: number;
  /** Commits the edits of each answer, by this author. Default `aider`; false: no commits. */
  readonly commits?: { readonly name: string; readonly email: string } | false;
  /** How long the map is, in characters. Default 4,000. */
  readonly mapChars?: number;
  /** The longest file in the chat, in characters. Default 60,000; four times that is all of the chat. */
  readonly fileChars?: number;
  /** Of a linter and of the tests. Default 300. */
  readonly timeoutSeconds?: number;
  /** Goes on after edits that went well, until an answer has none. Default false. */
  readonly untilAnswer?: boolean;
  /** What the model reads first, in place of the built-in text. */
  readonly system?: string;
}

const line = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^[^\0\n]*$/, 'expected one line');
const options = z.strictObject({
  editFormat: z.enum(['diff', 'udiff', 'whole']).default('diff'),
  lint: z
    .union([
      z.literal(false),
      z.record(z.string().regex(/^(\*|\.[\w.]{1,32})$/, 'expected an ending like .py, or *'), line(4096)),
    ])
    .default({}),
  test: z.string().min(1).max(16_384).optional(),
  maxReflections: z.int().min(0).max(50).default(3),
  commits: z
    .union([z.literal(false), z.strictObject({ name: line(200), email: line(200) })])
    .default({ name: 'aider', email: 'aider@localhost' }),
  mapChars: z.int().min(200).max(100_000).default(4000),
  fileChars: z.int().min(1000).max(500_000).default(60_000),
  timeoutSeconds: z.int().min(1).max(1500).default(300),
  untilAnswer: z.boolean().default(false),
  system: z.string().min(1).max(65_536).optional(),
});
type Options = z.output<typeof options>;

const MOST_ADDED = 20;
const MENTIONED_CHARS = 20_000;
const MESSAGE_CHARS = 72;

const explainFormat = (format: EditFormat): DeclaredTool =>
  defineTool({
    untrusted: 'container',
    name: EXPLAIN,
    description: 'Says what is wrong with the form of an answer.',
    input: z.strictObject({ problem: z.string(), reflections: z.int() }),
    output: z.string(),
    effect: 'pure',
    execute: ({ problem }) => problemText(problem, format),
  });

/**
 * Works like aider, for models that act by text: edits of an answer are blocks, diffs or whole files; files are added to the chat, found by a
 * map of the repository; after edits come a commit, linters and tests. Throws `agent_invalid` for options that are not right.
 */
export function aiderScaffold(given: AiderScaffoldOptions = {}): Scaffold<DeclaredTool> {
  const parsed = options.safeParse(given);
  if (!parsed.success)
    throw new HoldfastError(
      'agent_invalid',
      `The options of aiderScaffold are not right: ${z.prettifyError(parsed.error)}`,
    );
  const chosen = parsed.data;
  const { editFormat, lint, test = null, commits, mapChars, fileChars, timeoutSeconds } = chosen;
  const system = chosen.system ?? systemText(editFormat, test !== null);
  const checks = { lint: lint === false ? {} : lint, autoLint: lint !== false, test, timeoutSeconds };
  return {
    name: 'aider',
    version: '1',
    tools: () => [
      ...lookTools(mapChars, fileChars),
      applyTool({ ...checks, fileChars, commits: commits === false ? null : { author: commits } }),
      explainFormat(editFormat),
    ],
    grants: (workdir) => [
      ...['container:exec:shell', `container:read:${workdir}/**`, `container:write:${workdir}/**`],
      `tool:call:${EXPLAIN}`,
    ],
    read: (text, context) => callsOf(text, context, chosen),
    step: (call) => observed(call, chosen),
    history: (items, { workdir }) =>
      aiderHistory(items, {
        ...{ system, reminder: reminderText(editFormat), mostChars: fileChars * 4 },
        nameOf: (path) => (path.startsWith(`${workdir}/`) ? path.slice(workdir.length + 1) : path),
      }),
  };
}

function callsOf(
  text: string,
  { conversation, workdir }: ReadContext,
  { editFormat, fileChars }: Options,
): readonly TextCall[] {
  const { edits, problem } = readEdits(text, editFormat);
  const { add, map } = readCommands(text);
  const reflections = reflectionsIn(conversation);
  const explain = (what: string): readonly TextCall[] => [{ tool: EXPLAIN, arguments: { problem: what, reflections } }];
  if (problem !== null) return explain(problem);
  if (edits.length > MOST_EDITS)
    return explain(`It has ${edits.length} edits, and an answer has at most ${MOST_EDITS}`);
  if (add.length > MOST_ADDED) return explain(`It adds ${add.length} files, and an answer adds at most ${MOST_ADDED}`);
  const absolute = (path: string): string => posix.resolve(workdir, path);
  const calls: TextCall[] = add.map((path) => ({ tool: ADD, arguments: { path: absolute(path) } }));
  if (map) {
    const chat = [...chatOf(conversation, fileChars * 4).files.keys()].map((path) => posix.relative(workdir, path));
    calls.push({ tool: MAP, arguments: { path: workdir, chat, mentioned: saidIn(conversation, MENTIONED_CHARS) } });
  }
  if (edits.length === 0) return calls;
  const asked = edits.map(({ path, edit }): JsonObject => ({ path: absolute(path), edit: { ...edit } }));
  return [...calls, { tool: APPLY, arguments: { edits: asked, message: messageOf(text, asked.length), reflections } }];
}

/** The first sentence of an answer says what its edits are for. */
function messageOf(text: string, edits: number): string {
  const first = text.slice(0, 2000).split('\n')[0]?.trim() ?? '';
  const isSentence = /\s/.test(first) && !/^[`<#/*-]/.test(first);
  const said = (isSentence ? first : `Make ${edits} ${edits === 1 ? 'edit' : 'edits'}`).split('\0').join('');
  return said.slice(0, MESSAGE_CHARS).trim().toWellFormed();
}

const asked = z.object({ reflections: z.int() });

function observed(call: ScaffoldCall, { maxReflections, untilAnswer }: Options): StepResult {
  const step = plainStep(call, undefined);
  const { tool, outcome } = call;
  const before = asked.safeParse(call.arguments).data?.reflections ?? 0;
  const isLast = before >= maxReflections;
  const giveUp = `\n\nThis was mended ${maxReflections} times, and is left as it is.`;
  if (tool === EXPLAIN && outcome.type === 'output')
    return { ...step, observation: `${String(outcome.output)}${isLast ? giveUp : ''}`, done: isLast };
  if (tool !== APPLY) return step;
  const { data } = editsApplied.safeParse(outcome.type === 'output' ? outcome.output : null);
  if (data === undefined) return { ...step, done: isLast };
  const { ok, edited, files, commit } = data;
  const said = saidOf(data);
  const done = ok ? !untilAnswer : isLast;
  return {
    // The edits themselves are in the arguments of the call.
    actionTaken: { tool, files: edited.slice(0, 20).map((path) => path.slice(0, 200).toWellFormed()) },
    // A run that is over has a text as its output.
    observation: done ? `${said}${ok ? '' : giveUp}` : { said, ok, files },
    ...{ reward: null, done },
    info: { ok, commit, failed: data.failed.length, lint: data.lint === null, test: data.test === null },
  };
}

function saidOf({ edited, failed, commit, lint, test }: EditsApplied): string {
  const made =
    edited.length === 0
      ? 'No file was edited.'
      : `Edited: ${edited.join(', ')}.${commit === null ? '' : ` Commit ${commit}.`}`;
  return [
    made,
    ...(failed.length === 0
      ? []
      : [
          `${failed.length} ${failed.length === 1 ? 'edit was' : 'edits were'} not made.${edited.length === 0 ? '' : ' All others were: do not send these again.'}`,
        ]),
    ...failed,
    ...(lint === null ? [] : [`Mend what the check of the files says:\n${lint}`]),
    ...(test === null ? [] : [`Mend what makes the tests fail:\n${test}`]),
  ].join('\n\n');
}
