import { z } from 'zod';
import { plainStep, type Scaffold, type ScaffoldCall, type StepResult } from '../../core/agents/scaffold.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { type BashToolOptions, bashTool } from '../container/bash.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import {
  commandsIn,
  formatText,
  handedIn,
  linearHistory,
  observationText,
  systemText,
  taskText,
} from './mini-swe-text.js';

export interface MiniSweScaffoldOptions {
  /** The language that code blocks with commands name. Default `bash`. */
  readonly language?: string;
  /** How much of an output the model reads, in characters. Default 10,000. */
  readonly outputChars?: number;
  /** What the model reads first, in place of the built-in text. */
  readonly system?: string;
  /** Makes what the model reads of the input of the run. A pure function. */
  readonly task?: (input: string) => string;
  /** Bounds of commands. */
  readonly bash?: Omit<BashToolOptions, 'joinStreams'>;
}

const options = z.strictObject({
  language: z
    .string()
    .regex(/^[a-z_]{1,32}$/, 'expected [a-z_], at most 32')
    .default('bash'),
  outputChars: z.int().min(100).max(100_000).default(10_000),
  system: z.string().min(1).max(65_536).optional(),
  task: z.custom<(input: string) => string>((value) => typeof value === 'function', 'must be a function').optional(),
  bash: z.unknown().optional(),
});

const FORMAT = 'explain_format';
const ran = z.object({ exitCode: z.int(), stdout: z.string(), note: z.string().optional() });

/** A wrong form is a call like any other, so that it is a step of the run. */
const explainFormat = (language: string): DeclaredTool =>
  defineTool({
    untrusted: 'container',
    name: FORMAT,
    description: 'Says what an answer must look like.',
    input: z.object({ found: z.int() }),
    output: z.string(),
    effect: 'pure',
    execute: ({ found }) => formatText(found, language),
  });

/**
 * For models that act by text: each answer has one code block with a command, as with mini-swe-agent. The model is offered no tools. A
 * command that prints `COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT` first ends the run, with the rest of what it prints as the output. Throws
 * `agent_invalid` for options that are not right.
 */
export function miniSweScaffold(given: MiniSweScaffoldOptions = {}): Scaffold<DeclaredTool> {
  const parsed = options.safeParse(given);
  if (!parsed.success)
    throw new HoldfastError(
      'agent_invalid',
      `The options of miniSweScaffold are not right: ${z.prettifyError(parsed.error)}`,
    );
  const { language, outputChars } = parsed.data;
  const system = parsed.data.system ?? systemText(language);
  const task = parsed.data.task ?? ((text: string) => taskText(text, language));
  return {
    name: 'mini-swe',
    version: '1',
    tools: () => [bashTool({ ...given.bash, joinStreams: true }), explainFormat(language)],
    grants: () => ['container:exec:shell', `tool:call:${FORMAT}`],
    read: (text) => {
      const commands = commandsIn(text, language);
      const [command] = commands;
      if (command === undefined || commands.length > 1)
        return [{ tool: FORMAT, arguments: { found: commands.length } }];
      return [{ tool: 'bash', arguments: { command } }];
    },
    step: (call) => observed(call, outputChars),
    history: (items) => linearHistory(items, system, task),
  };
}

function observed(call: ScaffoldCall, outputChars: number): StepResult {
  const step = plainStep(call, undefined);
  const { data } = ran.safeParse(call.outcome.type === 'output' ? call.outcome.output : null);
  if (call.tool !== 'bash' || data === undefined) return step;
  const { exitCode, stdout, note } = data;
  const final = handedIn(exitCode, stdout);
  return {
    ...step,
    observation: final ?? observationText(exitCode, stdout, outputChars, note),
    done: final !== null,
    info: { exitCode },
  };
}
