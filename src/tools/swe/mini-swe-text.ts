import type { JsonObject, JsonValue } from '../../core/json.js';

/** The text of a part of an item; null: it is none. */
export const partText = (part: JsonValue | undefined): string | null => {
  const text = typeof part === 'object' && part !== null && !Array.isArray(part) ? (part as JsonObject)['text'] : null;
  return typeof text === 'string' ? text : null;
};

/** Texts between a model that acts by text and its shell. The shapes are those of mini-swe-agent (https://mini-swe-agent.com). */

/** What a command prints first to end the work; the rest of its output is what the run gives. */
export const FINAL_MARKER = 'COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT';

/** The commands in the code blocks of a text, whose first line names the language. Linear in the length of the text. */
export function commandsIn(text: string, language: string): readonly string[] {
  const commands: string[] = [];
  let block: string[] | null = null;
  for (const line of text.split('\n')) {
    if (block === null) {
      if (line.trimEnd() === `\`\`\`${language}`) block = [];
    } else if (line.trimEnd() === '```') {
      commands.push(block.join('\n').trim());
      block = null;
    } else block.push(line);
  }
  return commands.filter((command) => command !== '');
}

export const systemText = (language: string): string =>
  `You solve tasks with a shell. Each of your answers has a short THOUGHT, which says what you do next and why, and then exactly ONE code block with ONE command. Join several with && or ||.

\`\`\`${language}
your command
\`\`\``;

export const taskText = (task: string, language: string): string =>
  `Solve this task:

${task}

- Each command has a shell of its own: files stay, variables and the directory do not. Write \`cd there && …\` where it matters.
- Commands must not wait for input, and must not open an editor or a pager.
- Look at the files first, reproduce the problem, change what is needed, and try it.
- When everything is done, end with this command, on its own. After it you can do nothing more:

\`\`\`${language}
echo ${FINAL_MARKER}
\`\`\`

What a last command prints behind that line is what you hand in.`;

/** A long output is read from both ends. */
export function observationText(exitCode: number, output: string, most: number, note?: string): string {
  const head = `<returncode>${exitCode}</returncode>${note === undefined ? '' : `\n<warning>${note}</warning>`}`;
  if (output.length <= most) return `${head}\n<output>\n${output}</output>`;
  const half = Math.floor(most / 2);
  return `${head}
<warning>The output is too long. Look at less of it: use head, tail or grep, or write it into a file.</warning>
<output_head>
${output.slice(0, half).toWellFormed()}
</output_head>
<elided_chars>${output.length - 2 * half}</elided_chars>
<output_tail>
${output.slice(output.length - half).toWellFormed()}
</output_tail>`;
}

export const formatText = (found: number, language: string): string =>
  `Your answer has ${found} code blocks \`\`\`${language}; it must have exactly ONE, with one command. Nothing was executed. Answer again with a THOUGHT and one block. To end the work, the block is: echo ${FINAL_MARKER}`;

/** What was handed in, where a command that succeeded printed the marker first; null: the work goes on. */
export function handedIn(exitCode: number, output: string): string | null {
  const [first = '', ...rest] = output.trimStart().split('\n');
  return exitCode === 0 && first.trim() === FINAL_MARKER ? rest.join('\n') : null;
}

/** The conversation as a model reads it that knows no tools: what came of commands is said by the user. */
export function linearHistory(
  items: readonly JsonObject[],
  system: string,
  task: (text: string) => string,
): JsonObject[] {
  let isFirst = true;
  const shown = items.flatMap((item): JsonObject[] => {
    if (item['type'] === 'function_call') return [];
    if (item['type'] === 'function_call_result') return [{ role: 'user', content: textOf(item['output']) }];
    if (item['role'] !== 'user' || !isFirst) return [item];
    isFirst = false;
    return [{ ...item, content: withTask(item['content'], task) }];
  });
  return [{ role: 'system', content: system }, ...shown];
}

const withTask = (content: JsonValue | undefined, task: (text: string) => string): JsonValue => {
  if (typeof content === 'string') return task(content);
  if (!Array.isArray(content)) return content ?? '';
  let isFirst = true;
  return content.map((part: JsonValue) => {
    const text = partText(part);
    if (text === null || !isFirst) return part;
    isFirst = false;
    return { ...(part as JsonObject), text: task(text) };
  });
};

/** The text of a result: the SDK wraps texts. */
const textOf = (output: JsonValue | undefined): string => {
  if (typeof output === 'string') return output;
  const parts = Array.isArray(output) ? output : [output];
  return parts.map((part) => partText(part) ?? '[not a text]').join('\n');
};
