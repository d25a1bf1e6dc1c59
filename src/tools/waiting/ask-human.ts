import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { LONGEST_MS, waitFor } from '../../core/interruptions/wait.js';
import { type JsonValue, jsonObject, jsonValue, parseJson } from '../../core/json.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { readOptions } from '../define/tool-options.js';

const OPTIONS = { expiresInMs: z.int().min(1).max(LONGEST_MS).nullable().optional() };

/**
 * `ask_human`: a question to a person. The run pauses until someone answers with a text, one of the choices, or what fits a
 * JSON schema. Needs `human:ask:question`. `expiresInMs`: null is never; left out, a question expires like an approval.
 */
export function askHumanTool(options: { readonly expiresInMs?: number | null } = {}): DeclaredTool {
  const { expiresInMs } = readOptions('ask_human', OPTIONS, options);
  return defineTool({
    name: 'ask_human',
    description:
      'Asks a person and waits for the answer, which may take days. Ask only what you cannot find out yourself.',
    input: z.object({
      question: z.string().min(1).max(8192).describe('What the person reads.'),
      choices: z
        .array(z.string().min(1).max(1000))
        .min(1)
        .max(100)
        .optional()
        .describe('The only answers to choose from.'),
      answerSchema: z
        .string()
        .max(16_384)
        .optional()
        .describe('A JSON schema that the answer must fit, written as JSON. Not together with choices.'),
    }),
    output: jsonValue,
    capabilities: ['human:ask:question'],
    effect: 'pure',
    execute: ({ question, choices, answerSchema }) =>
      waitFor({
        ...{ kind: 'question', text: question },
        ...(choices === undefined ? {} : { choices }),
        ...(answerSchema === undefined ? {} : { schema: schemaOf(answerSchema) }),
        ...(expiresInMs === undefined ? {} : { expiresInMs }),
      }),
  });
}

function schemaOf(text: string): { readonly [key: string]: JsonValue } {
  try {
    return jsonObject.parse(parseJson(text));
  } catch (cause) {
    throw new HoldfastError('wait_invalid', 'answerSchema is not a JSON object.', { cause });
  }
}
