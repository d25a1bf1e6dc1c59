import { z } from 'zod';
import { plainStep, type Scaffold, type ScaffoldCall, type StepResult } from '../../core/agents/scaffold.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { JsonObject } from '../../core/json.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { pythonTool } from './python-cell.js';
import { editorTool } from './replace-editor.js';
import { askSession, sessionEnded } from './shell-session.js';

export interface OpenHandsScaffoldOptions {
  /** How long a command may print nothing before its call ends without it, in seconds. Default 30. */
  readonly quietSeconds?: number;
  /** Of a cell of Python that names no time of its own. Default 120. */
  readonly cellSeconds?: number;
  /** Kept of the output of a command or cell. Default 32,768. */
  readonly maxOutputBytes?: number;
  /** Which items the model sees whole: the first ones and the last ones. Results between them are masked. Null: all. Default 4 and 100. */
  readonly condenser?: { readonly keepFirst?: number; readonly keepLast?: number } | null;
}

const options = z.strictObject({
  quietSeconds: z.number().min(0.5).max(600).default(30),
  cellSeconds: z.int().min(1).max(1500).default(120),
  maxOutputBytes: z.int().min(1000).max(1_048_576).default(32_768),
  condenser: z
    .strictObject({
      keepFirst: z.int().min(0).max(10_000).default(4),
      keepLast: z.int().min(1).max(10_000).default(100),
    })
    .nullable()
    .default({ keepFirst: 4, keepLast: 100 }),
});
type Options = z.output<typeof options>;

const bash = ({ quietSeconds, maxOutputBytes }: Options): DeclaredTool =>
  defineTool({
    untrusted: 'container',
    name: 'execute_bash',
    description: `Executes a command in a shell session: directory, variables, functions and aliases stay for the next command. A command that prints nothing for ${quietSeconds} seconds, or goes on longer than timeout, stays at work, and the exit code is -1. Then is_input sends it a line; an empty command only waits for more output, C-c ends it, C-d ends its input, C-z stops it. One command is at work at a time: chain several with && or ;, and put servers into the background with their output in a file.`,
    input: z.strictObject({
      command: z.string().max(65_536).describe('For the shell, or for the command at work.'),
      is_input: z.enum(['true', 'false']).optional().describe('Whether it goes to the command at work. Default false.'),
      timeout: z.number().min(1).max(1500).optional().describe('How many seconds to wait for the command.'),
    }),
    output: sessionEnded,
    capabilities: ['container:exec:shell'],
    effect: 'unsafe',
    onUnknownEffect: 'rerun',
    timeoutMs: 3_600_000,
    maxOutputBytes: maxOutputBytes * 12 + 16_384,
    execute: ({ command, is_input: isInput, timeout }, { environment }) =>
      askSession(environment, {
        ...{ mode: isInput === 'true' ? 'input' : 'run', text: command, timeoutSeconds: timeout ?? null },
        ...{ quietSeconds, maxOutputBytes },
      }),
  });

const think = (): DeclaredTool =>
  defineTool({
    untrusted: 'container',
    name: 'think',
    description: 'Writes a thought down. It gets no new information and changes nothing.',
    input: z.strictObject({ thought: z.string().max(65_536) }),
    output: z.string(),
    effect: 'pure',
    execute: () => 'The thought was written down.',
  });

const finish = (): DeclaredTool =>
  defineTool({
    untrusted: 'container',
    name: 'finish',
    description: 'Says that the task is done, or cannot be done. Nothing follows.',
    input: z.strictObject({
      message: z.string().max(65_536).describe('What was done, what came of it, and what is left.'),
    }),
    output: z.string(),
    effect: 'pure',
    execute: ({ message }) => message,
  });

/**
 * The tools of OpenHands' CodeActAgent: a shell session, cells of Python, an editor, `think` and `finish`, and a condenser for long
 * conversations. Throws `agent_invalid` for options that are not right.
 */
export function openHandsScaffold(given: OpenHandsScaffoldOptions = {}): Scaffold<DeclaredTool> {
  const parsed = options.safeParse(given);
  if (!parsed.success)
    throw new HoldfastError(
      'agent_invalid',
      `The options of openHandsScaffold are not right: ${z.prettifyError(parsed.error)}`,
    );
  const chosen = parsed.data;
  const { condenser, cellSeconds, maxOutputBytes } = chosen;
  return {
    name: 'openhands',
    version: '1',
    tools: () => [bash(chosen), pythonTool(cellSeconds, maxOutputBytes), editorTool(), think(), finish()],
    grants: (workdir) => [
      ...['container:exec:shell', `container:read:${workdir}/**`, `container:write:${workdir}/**`],
      ...['tool:call:think', 'tool:call:finish'],
    ],
    step: observed,
    ...(condenser === null
      ? {}
      : { history: (items: readonly JsonObject[]) => condensed(items, condenser.keepFirst, condenser.keepLast) }),
  };
}

const MASK = { type: 'text', text: '<MASKED>' };

/** The conversation with the results between its first and its last items masked: calls stay, so that the model knows what it did. */
export const condensed = (items: readonly JsonObject[], keepFirst: number, keepLast: number): readonly JsonObject[] =>
  items.map((item, at) =>
    item['type'] === 'function_call_result' && at >= keepFirst && at < items.length - keepLast
      ? { ...item, output: MASK }
      : item,
  );

const cell = z.object({ output: z.string(), failed: z.boolean(), note: z.string().optional() });

function observed(call: ScaffoldCall): StepResult {
  const step = plainStep(call, undefined);
  const { tool, outcome } = call;
  if (outcome.type === 'error') return step;
  if (tool === 'finish') return { ...step, done: true };
  const command = tool === 'execute_bash' ? sessionEnded.safeParse(outcome.output).data : undefined;
  if (command !== undefined) {
    const { output, exitCode, cwd, note } = command;
    const lines = [
      ...(note === undefined ? [] : [`[${note}]`]),
      `[Current working directory: ${cwd}]`,
      exitCode === -1
        ? '[The command is still at work: exit code -1]'
        : `[Command finished with exit code ${exitCode}]`,
    ];
    return { ...step, observation: `${withEnd(output)}${lines.join('\n')}`, info: { exitCode, cwd } };
  }
  const { data } = cell.safeParse(tool === 'execute_ipython_cell' ? outcome.output : null);
  if (data === undefined) return step;
  const note = data.note === undefined ? '' : `[${data.note}]`;
  return { ...step, observation: `${withEnd(data.output)}${note}` || '[No output]', info: { failed: data.failed } };
}

const withEnd = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
